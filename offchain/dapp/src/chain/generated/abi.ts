// Made by scripts/dapp.py: do not edit.
export const controllerAbi = [
 {
  "inputs": [
   {
    "name": "digest",
    "type": "bytes32"
   }
  ],
  "name": "AcceptanceUsed",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "AlreadyInitialized",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "ConsentExpired",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "duration",
    "type": "uint256"
   },
   {
    "name": "min",
    "type": "uint256"
   },
   {
    "name": "max",
    "type": "uint256"
   }
  ],
  "name": "DurationOutOfRange",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "account",
    "type": "address"
   },
   {
    "name": "balance",
    "type": "uint256"
   },
   {
    "name": "needed",
    "type": "uint256"
   }
  ],
  "name": "InsufficientBalance",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "cells",
    "type": "uint64"
   }
  ],
  "name": "InvalidCells",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "gpus",
    "type": "uint8"
   }
  ],
  "name": "InvalidGpuCount",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "field",
    "type": "bytes32"
   }
  ],
  "name": "InvalidParams",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "placement",
    "type": "uint16"
   }
  ],
  "name": "InvalidPlacement",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "share",
    "type": "uint8"
   }
  ],
  "name": "InvalidShare",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "share",
    "type": "uint8"
   }
  ],
  "name": "InvalidSmallestShare",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "field",
    "type": "bytes32"
   }
  ],
  "name": "InvalidTerms",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   },
   {
    "name": "end",
    "type": "uint256"
   }
  ],
  "name": "LeaseNotOver",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   },
   {
    "name": "end",
    "type": "uint256"
   }
  ],
  "name": "LeaseOver",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   },
   {
    "name": "leased",
    "type": "uint64"
   }
  ],
  "name": "MachineBusy",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "MachineDelisted",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   },
   {
    "name": "since",
    "type": "uint256"
   }
  ],
  "name": "MachineDown",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "MachineNotDown",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "MachineNotRetired",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "MachineNotStalled",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "MachineRetiredAlready",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "MachineStalled",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "MachineUnderStaked",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "MachineUnverified",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   },
   {
    "name": "busy",
    "type": "uint64"
   }
  ],
  "name": "NoFreeCells",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "NoProposal",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "actor",
    "type": "address"
   }
  ],
  "name": "NotAuthorized",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "end",
    "type": "uint256"
   },
   {
    "name": "availableUntil",
    "type": "uint256"
   }
  ],
  "name": "NotAvailableUntil",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "NotSpot",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   },
   {
    "name": "needed",
    "type": "uint256"
   },
   {
    "name": "left",
    "type": "uint256"
   }
  ],
  "name": "NothingLeftFor",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   }
  ],
  "name": "NothingToClaim",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "OfferExpired",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "field",
    "type": "bytes32"
   }
  ],
  "name": "OfferMismatch",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "nonce",
    "type": "uint256"
   }
  ],
  "name": "OfferUsed",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "accepted",
    "type": "uint16"
   },
   {
    "name": "current",
    "type": "uint16"
   }
  ],
  "name": "ParamsOutdated",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Paused",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "price",
    "type": "uint80"
   },
   {
    "name": "maxPrice",
    "type": "uint80"
   }
  ],
  "name": "PriceTooHigh",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "inForceAt",
    "type": "uint256"
   }
  ],
  "name": "ProposalPending",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "current",
    "type": "uint16"
   }
  ],
  "name": "RevisionChanged",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "SelfTransfer",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "share",
    "type": "uint8"
   },
   {
    "name": "smallest",
    "type": "uint8"
   }
  ],
  "name": "ShareTooSmall",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   },
   {
    "name": "count",
    "type": "uint8"
   }
  ],
  "name": "SlashPending",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   }
  ],
  "name": "SlotExhausted",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   },
   {
    "name": "until",
    "type": "uint256"
   }
  ],
  "name": "StakeLocked",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   },
   {
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "StartWindowOpen",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   },
   {
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "StartWindowPassed",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "sent",
    "type": "uint256"
   },
   {
    "name": "received",
    "type": "uint256"
   }
  ],
  "name": "TokenTakesFee",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   },
   {
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "TrialOver",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   },
   {
    "name": "until",
    "type": "uint256"
   }
  ],
  "name": "TrialRunning",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   }
  ],
  "name": "UnderNotice",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   }
  ],
  "name": "UnknownLease",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "UnknownMachine",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "provider",
    "type": "address"
   }
  ],
  "name": "Unlicensed",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   }
  ],
  "name": "WrongBackup",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   },
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "WrongMachine",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "account",
    "type": "address"
   }
  ],
  "name": "WrongProof",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   },
   {
    "name": "state",
    "type": "uint8"
   }
  ],
  "name": "WrongState",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "ZeroAddress",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "ZeroAmount",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "name": "machine",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "digest",
    "type": "bytes32"
   }
  ],
  "name": "ContactSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "name": "lease",
    "type": "uint256"
   },
   {
    "indexed": true,
    "name": "machine",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "refunded",
    "type": "uint96"
   }
  ],
  "name": "LeaseCancelled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "name": "lease",
    "type": "uint256"
   },
   {
    "indexed": true,
    "name": "machine",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "end",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "paid",
    "type": "uint96"
   },
   {
    "indexed": false,
    "name": "fee",
    "type": "uint96"
   },
   {
    "indexed": false,
    "name": "refunded",
    "type": "uint96"
   }
  ],
  "name": "LeaseClosed",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "name": "lease",
    "type": "uint256"
   },
   {
    "indexed": true,
    "name": "machine",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "reason",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "name": "refunded",
    "type": "uint96"
   }
  ],
  "name": "LeaseDeclined",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "name": "lease",
    "type": "uint256"
   },
   {
    "indexed": true,
    "name": "machine",
    "type": "uint32"
   },
   {
    "indexed": true,
    "name": "payer",
    "type": "address"
   },
   {
    "indexed": false,
    "name": "end",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "deposit",
    "type": "uint96"
   },
   {
    "indexed": false,
    "name": "pulled",
    "type": "uint256"
   }
  ],
  "name": "LeaseExtended",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "name": "lease",
    "type": "uint256"
   },
   {
    "indexed": true,
    "name": "machine",
    "type": "uint32"
   },
   {
    "indexed": true,
    "name": "tenant",
    "type": "address"
   },
   {
    "indexed": false,
    "name": "placement",
    "type": "uint16"
   },
   {
    "indexed": false,
    "name": "revision",
    "type": "uint16"
   },
   {
    "indexed": false,
    "name": "params",
    "type": "uint16"
   },
   {
    "indexed": false,
    "name": "price",
    "type": "uint80"
   },
   {
    "indexed": false,
    "name": "duration",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "deposit",
    "type": "uint96"
   },
   {
    "indexed": false,
    "name": "pulled",
    "type": "uint256"
   },
   {
    "indexed": false,
    "name": "workload",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "name": "flags",
    "type": "uint8"
   },
   {
    "indexed": false,
    "name": "backup",
    "type": "bytes32"
   }
  ],
  "name": "LeaseOpened",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "name": "lease",
    "type": "uint256"
   },
   {
    "indexed": true,
    "name": "machine",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "paid",
    "type": "uint96"
   },
   {
    "indexed": false,
    "name": "fee",
    "type": "uint96"
   },
   {
    "indexed": false,
    "name": "refunded",
    "type": "uint96"
   }
  ],
  "name": "LeaseRejected",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "name": "lease",
    "type": "uint256"
   },
   {
    "indexed": true,
    "name": "machine",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "start",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "end",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "endpoint",
    "type": "bytes32"
   }
  ],
  "name": "LeaseStarted",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "name": "lease",
    "type": "uint256"
   },
   {
    "indexed": true,
    "name": "machine",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "end",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "penalty",
    "type": "uint96"
   }
  ],
  "name": "LeaseTerminated",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "name": "lease",
    "type": "uint256"
   },
   {
    "indexed": true,
    "name": "from",
    "type": "address"
   },
   {
    "indexed": true,
    "name": "to",
    "type": "address"
   }
  ],
  "name": "LeaseTransferred",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "name": "lease",
    "type": "uint256"
   },
   {
    "indexed": true,
    "name": "machine",
    "type": "uint32"
   },
   {
    "indexed": false,
    "name": "cid",
    "type": "bytes"
   }
  ],
  "name": "ResultPublished",
  "type": "event"
 },
 {
  "inputs": [],
  "name": "accounts",
  "outputs": [
   {
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   },
   {
    "name": "amount",
    "type": "uint96"
   }
  ],
  "name": "addStake",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "account",
    "type": "address"
   }
  ],
  "name": "balanceOf",
  "outputs": [
   {
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   }
  ],
  "name": "cancelUnstarted",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "leases",
    "type": "uint256[]"
   }
  ],
  "name": "claim",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   }
  ],
  "name": "close",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "companions",
  "outputs": [
   {
    "name": "committee",
    "type": "address"
   },
   {
    "name": "faults",
    "type": "address"
   },
   {
    "name": "reputation",
    "type": "address"
   },
   {
    "name": "directory",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "delist",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "to",
    "type": "address"
   },
   {
    "name": "amount",
    "type": "uint256"
   }
  ],
  "name": "deposit",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "to",
    "type": "address"
   },
   {
    "name": "amount",
    "type": "uint256"
   },
   {
    "name": "deadline",
    "type": "uint256"
   },
   {
    "name": "v",
    "type": "uint8"
   },
   {
    "name": "r",
    "type": "bytes32"
   },
   {
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "depositWithPermit",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   },
   {
    "name": "duration",
    "type": "uint32"
   }
  ],
  "name": "extend",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "gated",
  "outputs": [
   {
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   }
  ],
  "name": "leaseOf",
  "outputs": [
   {
    "components": [
     {
      "name": "tenant",
      "type": "address"
     },
     {
      "name": "machine",
      "type": "uint32"
     },
     {
      "name": "placement",
      "type": "uint16"
     },
     {
      "name": "state",
      "type": "uint8"
     },
     {
      "name": "spot",
      "type": "bool"
     },
     {
      "name": "noticed",
      "type": "bool"
     },
     {
      "name": "start",
      "type": "uint32"
     },
     {
      "name": "end",
      "type": "uint32"
     },
     {
      "name": "deposit",
      "type": "uint96"
     },
     {
      "name": "price",
      "type": "uint80"
     },
     {
      "name": "revision",
      "type": "uint16"
     },
     {
      "name": "params",
      "type": "uint16"
     },
     {
      "name": "settled",
      "type": "uint96"
     },
     {
      "name": "backup",
      "type": "bytes32"
     },
     {
      "name": "paused",
      "type": "uint32"
     },
     {
      "name": "segmentStart",
      "type": "uint32"
     },
     {
      "name": "segmentSettled",
      "type": "uint96"
     }
    ],
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "machineCount",
  "outputs": [
   {
    "name": "",
    "type": "uint32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "machineOf",
  "outputs": [
   {
    "components": [
     {
      "name": "provider",
      "type": "address"
     },
     {
      "name": "operator",
      "type": "address"
     },
     {
      "name": "status",
      "type": "uint8"
     },
     {
      "name": "delisted",
      "type": "bool"
     },
     {
      "name": "underStaked",
      "type": "bool"
     },
     {
      "name": "stalled",
      "type": "bool"
     },
     {
      "name": "gpus",
      "type": "uint8"
     },
     {
      "name": "smallestShare",
      "type": "uint8"
     },
     {
      "name": "revision",
      "type": "uint16"
     },
     {
      "name": "params",
      "type": "uint16"
     },
     {
      "name": "stake",
      "type": "uint96"
     },
     {
      "name": "busy",
      "type": "uint64"
     },
     {
      "name": "leased",
      "type": "uint64"
     },
     {
      "name": "withheld",
      "type": "uint64"
     },
     {
      "name": "retiredAt",
      "type": "uint32"
     },
     {
      "components": [
       {
        "name": "price",
        "type": "uint80"
       },
       {
        "name": "spotPrice",
        "type": "uint80"
       },
       {
        "name": "minDuration",
        "type": "uint24"
       },
       {
        "name": "maxDuration",
        "type": "uint24"
       },
       {
        "name": "trial",
        "type": "uint16"
       },
       {
        "name": "availableUntilDay",
        "type": "uint16"
       }
      ],
      "name": "terms",
      "type": "tuple"
     },
     {
      "name": "downSince",
      "type": "uint32"
     },
     {
      "name": "heldFrom",
      "type": "uint32"
     },
     {
      "name": "heldTo",
      "type": "uint32"
     },
     {
      "name": "heldUntil",
      "type": "uint32"
     },
     {
      "name": "lastVerified",
      "type": "uint32"
     },
     {
      "name": "pendingSlashes",
      "type": "uint8"
     }
    ],
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "calls",
    "type": "bytes[]"
   }
  ],
  "name": "multicall",
  "outputs": [
   {
    "name": "results",
    "type": "bytes[]"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "components": [
     {
      "name": "machine",
      "type": "uint32"
     },
     {
      "name": "revision",
      "type": "uint16"
     },
     {
      "name": "share",
      "type": "uint8"
     },
     {
      "name": "placement",
      "type": "uint16"
     },
     {
      "name": "duration",
      "type": "uint32"
     },
     {
      "name": "maxPrice",
      "type": "uint80"
     },
     {
      "name": "spot",
      "type": "bool"
     },
     {
      "name": "allowUnverified",
      "type": "bool"
     },
     {
      "name": "workload",
      "type": "bytes32"
     },
     {
      "name": "settle",
      "type": "uint256[]"
     },
     {
      "name": "reuse",
      "type": "uint256"
     },
     {
      "name": "backup",
      "type": "bytes32"
     }
    ],
    "name": "request",
    "type": "tuple"
   }
  ],
  "name": "open",
  "outputs": [
   {
    "name": "lease",
    "type": "uint256"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "owner",
  "outputs": [
   {
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "version",
    "type": "uint16"
   }
  ],
  "name": "params",
  "outputs": [
   {
    "components": [
     {
      "name": "minStakePerGpu",
      "type": "uint96"
     },
     {
      "name": "feeBps",
      "type": "uint16"
     },
     {
      "name": "holdFeeBps",
      "type": "uint16"
     },
     {
      "name": "maxSlashBps",
      "type": "uint16"
     },
     {
      "name": "startWindow",
      "type": "uint24"
     },
     {
      "name": "noticeSeconds",
      "type": "uint24"
     },
     {
      "name": "penaltySeconds",
      "type": "uint24"
     },
     {
      "name": "claimLag",
      "type": "uint24"
     },
     {
      "name": "challengeWindow",
      "type": "uint24"
     },
     {
      "name": "filingWindow",
      "type": "uint24"
     },
     {
      "name": "appealWindow",
      "type": "uint24"
     },
     {
      "name": "rulingWindow",
      "type": "uint24"
     },
     {
      "name": "unstakeDelay",
      "type": "uint32"
     },
     {
      "name": "bond",
      "type": "uint96"
     },
     {
      "name": "reverifyInterval",
      "type": "uint32"
     },
     {
      "name": "seatStake",
      "type": "uint96"
     },
     {
      "name": "verificationFee",
      "type": "uint96"
     },
     {
      "name": "committeeSize",
      "type": "uint8"
     },
     {
      "name": "arbiter",
      "type": "address"
     },
     {
      "name": "sink",
      "type": "address"
     }
    ],
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "paramsVersion",
  "outputs": [
   {
    "name": "version",
    "type": "uint16"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "paused",
  "outputs": [
   {
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "proposedParams",
  "outputs": [
   {
    "name": "version",
    "type": "uint16"
   },
   {
    "name": "inForceAt",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   }
  ],
  "name": "reject",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "relist",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "retire",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   },
   {
    "components": [
     {
      "name": "price",
      "type": "uint80"
     },
     {
      "name": "spotPrice",
      "type": "uint80"
     },
     {
      "name": "minDuration",
      "type": "uint24"
     },
     {
      "name": "maxDuration",
      "type": "uint24"
     },
     {
      "name": "trial",
      "type": "uint16"
     },
     {
      "name": "availableUntilDay",
      "type": "uint16"
     }
    ],
    "name": "terms",
    "type": "tuple"
   }
  ],
  "name": "setTerms",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "token",
  "outputs": [
   {
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "to",
    "type": "address"
   },
   {
    "name": "amount",
    "type": "uint256"
   }
  ],
  "name": "transfer",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "treasury",
  "outputs": [
   {
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "unstake",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "to",
    "type": "address"
   },
   {
    "name": "amount",
    "type": "uint256"
   }
  ],
  "name": "withdraw",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "spent",
    "type": "uint256"
   },
   {
    "name": "cap",
    "type": "uint256"
   }
  ],
  "name": "CapExceeded",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "expiry",
    "type": "uint256"
   }
  ],
  "name": "DelegationExpired",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "index",
    "type": "uint256"
   }
  ],
  "name": "DuplicateSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "ExpiredDeadline",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "nonce",
    "type": "uint256"
   },
   {
    "name": "expected",
    "type": "uint256"
   }
  ],
  "name": "InvalidNonce",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "account",
    "type": "address"
   }
  ],
  "name": "InvalidProof",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "index",
    "type": "uint256"
   }
  ],
  "name": "InvalidSigners",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "target",
    "type": "address"
   }
  ],
  "name": "InvalidTarget",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "threshold",
    "type": "uint8"
   },
   {
    "name": "signers",
    "type": "uint256"
   }
  ],
  "name": "InvalidThreshold",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "MalformedProof",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "MalleableSignature",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Nested",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "NoCalls",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "account",
    "type": "address"
   }
  ],
  "name": "NotDeployed",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "selector",
    "type": "bytes4"
   }
  ],
  "name": "ScopeExceeded",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "index",
    "type": "uint256"
   }
  ],
  "name": "UnorderedSignatures",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "account",
    "type": "address"
   },
   {
    "name": "derived",
    "type": "address"
   }
  ],
  "name": "WrongGroup",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "WrongSignature",
  "type": "error"
 },
 {
  "type": "error",
  "name": "ERC20InsufficientBalance",
  "inputs": [
   {
    "type": "address",
    "name": "sender"
   },
   {
    "type": "uint256",
    "name": "balance"
   },
   {
    "type": "uint256",
    "name": "needed"
   }
  ]
 },
 {
  "type": "error",
  "name": "ERC20InsufficientAllowance",
  "inputs": [
   {
    "type": "address",
    "name": "spender"
   },
   {
    "type": "uint256",
    "name": "allowance"
   },
   {
    "type": "uint256",
    "name": "needed"
   }
  ]
 },
 {
  "type": "error",
  "name": "ERC2612ExpiredSignature",
  "inputs": [
   {
    "type": "uint256",
    "name": "deadline"
   }
  ]
 },
 {
  "type": "error",
  "name": "ERC2612InvalidSigner",
  "inputs": [
   {
    "type": "address",
    "name": "signer"
   },
   {
    "type": "address",
    "name": "owner"
   }
  ]
 },
 {
  "type": "error",
  "name": "SafeERC20FailedOperation",
  "inputs": [
   {
    "type": "address",
    "name": "token"
   }
  ]
 },
 {
  "type": "error",
  "name": "SafeCastOverflowedUintDowncast",
  "inputs": [
   {
    "type": "uint8",
    "name": "bits"
   },
   {
    "type": "uint256",
    "name": "value"
   }
  ]
 },
 {
  "type": "error",
  "name": "ReentrancyGuardReentrantCall",
  "inputs": []
 }
] as const;

export const faultsAbi = [
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   },
   {
    "name": "fault",
    "type": "uint256"
   }
  ],
  "name": "AlreadyDown",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "fault",
    "type": "uint256"
   },
   {
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "AppealOpen",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "fault",
    "type": "uint256"
   },
   {
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "AppealOver",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   },
   {
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "ChallengeLapsed",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   },
   {
    "name": "until",
    "type": "uint256"
   }
  ],
  "name": "ChallengeStands",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "NoChallenge",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "fault",
    "type": "uint256"
   }
  ],
  "name": "NobodyRules",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   },
   {
    "name": "actor",
    "type": "address"
   }
  ],
  "name": "NotATenant",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "actor",
    "type": "address"
   }
  ],
  "name": "NotAuthorized",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "NotDown",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "fault",
    "type": "uint256"
   }
  ],
  "name": "NothingToApply",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "from",
    "type": "uint256"
   },
   {
    "name": "to",
    "type": "uint256"
   }
  ],
  "name": "OutageOutOfRange",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "until",
    "type": "uint256"
   }
  ],
  "name": "OutageTooShort",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "round",
    "type": "uint256"
   }
  ],
  "name": "ReportedAlready",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "fault",
    "type": "uint256"
   },
   {
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "RulingOver",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "fault",
    "type": "uint256"
   }
  ],
  "name": "UnknownFault",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "fault",
    "type": "uint256"
   },
   {
    "name": "state",
    "type": "uint8"
   }
  ],
  "name": "WrongFaultState",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "lease",
    "type": "uint256"
   },
   {
    "name": "machine",
    "type": "uint32"
   }
  ],
  "name": "WrongLease",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "account",
    "type": "address"
   }
  ],
  "name": "WrongSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "name": "fault",
    "type": "uint256"
   }
  ],
  "name": "appeal",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "fault",
    "type": "uint256"
   }
  ],
  "name": "faultOf",
  "outputs": [
   {
    "components": [
     {
      "name": "machine",
      "type": "uint32"
     },
     {
      "name": "kind",
      "type": "uint8"
     },
     {
      "name": "state",
      "type": "uint8"
     },
     {
      "name": "from",
      "type": "uint32"
     },
     {
      "name": "to",
      "type": "uint32"
     },
     {
      "name": "filedAt",
      "type": "uint32"
     },
     {
      "name": "deadline",
      "type": "uint32"
     },
     {
      "name": "bps",
      "type": "uint16"
     },
     {
      "name": "rules",
      "type": "uint16"
     },
     {
      "name": "round",
      "type": "uint48"
     },
     {
      "name": "amount",
      "type": "uint96"
     },
     {
      "name": "bond",
      "type": "uint96"
     },
     {
      "name": "previous",
      "type": "uint48"
     },
     {
      "name": "pot",
      "type": "uint96"
     },
     {
      "name": "reporter",
      "type": "bytes32"
     }
    ],
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 }
] as const;

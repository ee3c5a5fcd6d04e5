// Made by scripts/dapp.py: do not edit.
export const accountsAbi = [
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "name": "account",
    "type": "address"
   },
   {
    "indexed": true,
    "name": "nonce",
    "type": "uint256"
   },
   {
    "indexed": true,
    "name": "submitter",
    "type": "address"
   }
  ],
  "name": "Executed",
  "type": "event"
 },
 {
  "inputs": [
   {
    "name": "threshold",
    "type": "uint8"
   },
   {
    "name": "signers",
    "type": "address[]"
   },
   {
    "name": "salt",
    "type": "bytes32"
   }
  ],
  "name": "deployGroup",
  "outputs": [
   {
    "name": "account",
    "type": "address"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "name": "account",
    "type": "address"
   },
   {
    "components": [
     {
      "name": "target",
      "type": "address"
     },
     {
      "name": "data",
      "type": "bytes"
     }
    ],
    "name": "calls",
    "type": "tuple[]"
   },
   {
    "name": "nonce",
    "type": "uint256"
   },
   {
    "name": "deadline",
    "type": "uint256"
   },
   {
    "name": "proof",
    "type": "bytes"
   }
  ],
  "name": "execute",
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
    "name": "threshold",
    "type": "uint8"
   },
   {
    "name": "signers",
    "type": "address[]"
   },
   {
    "name": "salt",
    "type": "bytes32"
   }
  ],
  "name": "groupAddress",
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
    "name": "account",
    "type": "address"
   },
   {
    "name": "digest",
    "type": "bytes32"
   },
   {
    "name": "proof",
    "type": "bytes"
   }
  ],
  "name": "isAuthorized",
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
    "name": "account",
    "type": "address"
   },
   {
    "name": "key",
    "type": "uint192"
   }
  ],
  "name": "nonceOf",
  "outputs": [
   {
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 }
] as const;

// The one event of the pool's contract that the benchmark's chain emits.
export const abi = [
  {
    type: "event",
    name: "Transferred",
    inputs: [
      { name: "from", type: "address", indexed: true },
      { name: "to", type: "address", indexed: true },
      { name: "amount", type: "uint256", indexed: false },
    ],
  },
] as const;

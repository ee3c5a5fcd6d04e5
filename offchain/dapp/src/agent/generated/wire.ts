// Made by scripts/dapp.py: do not edit.
export const EXEC_PROTOCOL = "leasehold.exec.1" as const;
export const LOG_OFFSET = "Leasehold-Log-Offset" as const;
export const MAX_FRAME = 262144 as const;
export const MAX_REQUEST_LIFETIME = 300 as const;
export const MAX_UPLOAD = 1048576 as const;

interface Props {
  readonly id: string;
  readonly symbol: string;
  readonly written: string;
  /** Whether what is written is an amount. */
  readonly valid: boolean;
  readonly onWrite: (written: string) => void;
}

/** An amount of the pool's token, as it is typed. */
export function AmountField({ id, symbol, written, valid, onWrite }: Props) {
  return (
    <div className="field">
      <label htmlFor={id}>Amount in {symbol}</label>
      <input
        id={id}
        className="input numbers"
        inputMode="decimal"
        autoComplete="off"
        value={written}
        aria-invalid={written !== "" && !valid}
        onChange={(event) => onWrite(event.target.value)}
      />
    </div>
  );
}

import "./stations.css";

interface Props {
  /** What is being done, such as “Uploading the dataset”. */
  readonly label: string;
  readonly done: number;
  readonly all: number;
  /** How the numbers are written. */
  readonly format?: (value: number) => string;
}

/** How far something is that takes more than two seconds, in numbers. */
export function Progress({ label, done, all, format = String }: Props) {
  const percent = all > 0 ? Math.min(100, Math.floor((100 * done) / all)) : 0;
  return (
    <div className="progress">
      <div className="line apart small">
        <span>{label}</span>
        <span className="numbers">
          {format(done)} of {format(all)}, {percent} %
        </span>
      </div>
      <progress max={100} value={percent} aria-label={label} />
    </div>
  );
}

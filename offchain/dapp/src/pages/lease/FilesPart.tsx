import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type AgentClient, filesIn, fileThere, putFile, type There } from "../../agent";
import { problemOf } from "../../chain";
import { shelf } from "../../data";
import { formatSize } from "../../format";
import { Problem } from "../../problem";
import { Empty } from "../../ui/Empty";
import { ProblemView } from "../../ui/ProblemView";
import { Progress } from "../../ui/Progress";
import { Skeleton } from "../../ui/Skeleton";
import { save } from "../../ui/save";
import { Time } from "../../ui/Time";

const MOST_PUT = 1 << 30; // what the relay carries as one command's input
const FETCHED = "results-";

/** The files of the lease's container, to look at, to fetch and to put there. */
export default function FilesPart({ agent, lease }: { agent: AgentClient; lease: bigint }) {
  const [folder, setFolder] = useState("/");
  const [doing, setDoing] = useState<{ label: string; done: number; all: number } | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  const listed = useQuery({
    queryKey: ["agent", "files", agent.way.machine, String(lease), folder],
    queryFn: ({ signal }) => filesIn(agent, lease, folder, signal),
    retry: false,
  });
  const act = async (
    label: string,
    all: number,
    work: (tell: (done: number) => void) => Promise<void>,
  ): Promise<void> => {
    setProblem(null);
    setDoing({ label, done: 0, all });
    try {
      await work((done) => setDoing({ label, done, all }));
    } catch (error) {
      setProblem(problemOf(error, "copying the file"));
    } finally {
      setDoing(null);
    }
  };
  const fetched = (file: There): void =>
    void act(`Fetching ${file.name}`, file.size, async (tell) => {
      const place = `${FETCHED}${Date.now()}-${crypto.randomUUID()}`;
      const writer = await shelf.create(place);
      try {
        let done = 0;
        for await (const piece of fileThere(agent, lease, below(folder, file.name))) {
          await writer.write(piece);
          done += piece.length;
          tell(done);
        }
      } catch (error) {
        await writer.abort();
        throw error;
      }
      save(await writer.close(), file.name);
    });
  const put = (files: FileList | null): void => {
    const chosen = [...(files ?? [])];
    void (async () => {
      for (const file of chosen) {
        await act(`Putting ${file.name} there`, file.size, async () => {
          if (file.size > MOST_PUT) throw tooLarge();
          await putFile(agent, lease, below(folder, file.name), file);
        });
      }
      await listed.refetch();
    })();
  };
  return (
    <section className="panel rows" aria-label="Files">
      <h2>Files</h2>
      <Crumbs folder={folder} onFolder={setFolder} />
      <div className="line">
        <label className={doing ? "button disabled" : "button"}>
          Put files here
          <input
            type="file"
            multiple
            className="unseen"
            disabled={doing !== null}
            onChange={(event) => {
              put(event.target.files);
              event.target.value = "";
            }}
          />
        </label>
        <button type="button" className="button quiet" onClick={() => void listed.refetch()}>
          Look again
        </button>
      </div>
      {doing && <Progress label={doing.label} done={doing.done} all={doing.all} format={formatSize} />}
      {problem && <ProblemView error={problem} />}
      {listed.error && <ProblemView error={listed.error} onRetry={() => void listed.refetch()} />}
      {!listed.data && !listed.error && <Skeleton rows={4} />}
      {listed.data?.length === 0 && <Empty says="This folder is empty." />}
      {listed.data && listed.data.length > 0 && (
        <ul className="files">
          {listed.data.map((file) => (
            <Row
              key={file.name}
              file={file}
              busy={doing !== null}
              onFolder={() => setFolder(below(folder, file.name))}
              onFetch={() => fetched(file)}
            />
          ))}
        </ul>
      )}
      <p className="small soft">
        What goes this way passes the gateway as it is. What it must neither read nor change goes in as data and comes
        back as results, which are sealed.
      </p>
    </section>
  );
}

interface RowProps {
  readonly file: There;
  readonly busy: boolean;
  readonly onFolder: () => void;
  readonly onFetch: () => void;
}

function Row({ file, busy, onFolder, onFetch }: RowProps) {
  return (
    <li className="line apart">
      {file.kind === "folder" ? (
        <button type="button" className="button quiet little mono break" onClick={onFolder}>
          {file.name}/
        </button>
      ) : (
        <span className="mono break">{file.name}</span>
      )}
      <span className="line">
        <span className="small soft">
          {file.kind === "file" && `${formatSize(file.size)}, `}
          <Time at={file.time} past />
        </span>
        {file.kind === "file" && (
          <button type="button" className="button little" disabled={busy} onClick={onFetch}>
            Save <span className="unseen">{file.name}</span>
          </button>
        )}
      </span>
    </li>
  );
}

function Crumbs({ folder, onFolder }: { folder: string; onFolder: (folder: string) => void }) {
  const parts = folder.split("/").filter(Boolean);
  const places = parts.map((part, place) => ({ part, path: `/${parts.slice(0, place + 1).join("/")}` }));
  return (
    <nav className="line" aria-label="Folder">
      <button type="button" className="button quiet little mono" onClick={() => onFolder("/")}>
        /
      </button>
      {places.map(({ part, path }) => (
        <button
          key={path}
          type="button"
          className="button quiet little mono"
          aria-current={path === folder}
          onClick={() => onFolder(path)}
        >
          {part}/
        </button>
      ))}
    </nav>
  );
}

function below(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}

function tooLarge(): Problem {
  return new Problem(
    "file-too-large",
    "A file of more than a GiB does not go this way.",
    "Use `leasehold cp`, or add it as data.",
  );
}

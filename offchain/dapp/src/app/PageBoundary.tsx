import { Component, type ReactNode } from "react";
import { Problem } from "../problem";
import { ProblemView } from "../ui/ProblemView";

interface Props {
  readonly children: ReactNode;
  /** It is one part of a page, of which the others go on. */
  readonly part?: boolean;
}

interface State {
  readonly failed: { readonly error: unknown } | undefined;
}

/** Shows what a page, or a part of one, failed with in its place, so that all else stays in reach. Another address tries
 * anew. */
export class PageBoundary extends Component<Props, State> {
  override state: State = { failed: undefined };

  static getDerivedStateFromError(error: unknown): State {
    return { failed: { error } };
  }

  override componentDidMount(): void {
    window.addEventListener("hashchange", this.again);
  }

  override componentWillUnmount(): void {
    window.removeEventListener("hashchange", this.again);
  }

  private readonly again = (): void => this.setState({ failed: undefined });

  override render(): ReactNode {
    const { failed } = this.state;
    if (failed === undefined) return this.props.children;
    return <ProblemView error={failure(failed.error, this.props.part === true)} onRetry={this.again} />;
  }
}

function failure(error: unknown, part: boolean): Problem {
  const details = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const words = part ? "This part of the page failed." : "This page failed.";
  return new Problem("page-failed", words, "Load it again.", { cause: error, details });
}

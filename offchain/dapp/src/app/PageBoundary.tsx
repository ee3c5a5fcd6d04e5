import { Component, type ReactNode } from "react";
import { Problem } from "../problem";
import { ProblemView } from "../ui/ProblemView";

interface State {
  readonly problem: Problem | undefined;
}

/** Shows what a page failed with in its place, so that header and other pages stay in reach. Another address tries anew. */
export class PageBoundary extends Component<{ children: ReactNode }, State> {
  override state: State = { problem: undefined };

  static getDerivedStateFromError(error: unknown): State {
    const details = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { problem: new Problem("page-failed", "This page failed.", "Load it again.", { cause: error, details }) };
  }

  override componentDidMount(): void {
    window.addEventListener("hashchange", this.again);
  }

  override componentWillUnmount(): void {
    window.removeEventListener("hashchange", this.again);
  }

  private readonly again = (): void => this.setState({ problem: undefined });

  override render(): ReactNode {
    const { problem } = this.state;
    return problem === undefined ? this.props.children : <ProblemView error={problem} onRetry={this.again} />;
  }
}

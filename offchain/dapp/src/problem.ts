/** What went wrong, as people read it: a sentence, what to do next, and a code that stays for programs and tests.
 * `details` is what a person who helps will ask for; it is shown folded. */
export class Problem extends Error {
  readonly code: string;
  readonly advice: string;
  readonly details: string;

  constructor(code: string, problem: string, advice = "", options?: ErrorOptions & { details?: string }) {
    super(problem, options);
    this.name = "Problem";
    this.code = code;
    this.advice = advice;
    this.details = options?.details ?? "";
  }
}

/** What a node does not have is told by an error of this name; any other is a failure. */
export async function orNull<T>(asked: Promise<T>, missing: string): Promise<T | null> {
  return await asked.catch((error: unknown) => {
    if ((error as { name?: unknown } | null)?.name === missing) return null;
    throw error;
  });
}

/** Hands a file to whoever reads the page. Its type says nothing, so that no browser shows it as a page of this origin. */
export function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content.slice(0, content.size, "application/octet-stream"));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser reads it after the click
}

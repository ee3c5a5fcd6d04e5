/**
 * A document whose `<style>` elements are adopted stylesheets: a policy without unsafe-inline refuses the text of an element
 * that a script makes, and takes a sheet that it fills.
 */
export function sheetsForStyles(target: Document): { readonly document: Document; readonly dispose: () => void } {
  const sheets: CSSStyleSheet[] = [];
  const createElement = (name: string, options?: ElementCreationOptions): HTMLElement => {
    const element = target.createElement(name, options);
    if (name.toLowerCase() === "style") sheets.push(adopted(target, element));
    return element;
  };
  const document = new Proxy(target, {
    get(document, name) {
      if (name === "createElement") return createElement;
      const value: unknown = Reflect.get(document, name, document);
      return typeof value === "function" ? value.bind(document) : value;
    },
  });
  const dispose = (): void => {
    target.adoptedStyleSheets = target.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
  };
  return { document, dispose };
}

/** The sheet that holds whatever is written into the element; the element itself stays empty. */
function adopted(target: Document, element: HTMLElement): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  target.adoptedStyleSheets = [...target.adoptedStyleSheets, sheet];
  let text = "";
  for (const property of ["textContent", "innerText", "innerHTML"]) {
    Object.defineProperty(element, property, {
      get: () => text,
      set: (written: unknown) => {
        text = String(written);
        sheet.replaceSync(text);
      },
    });
  }
  Object.defineProperty(element, "sheet", { get: () => sheet });
  return sheet;
}

export interface Sheets {
  readonly document: Document;
  /** Has whatever `act` makes by the page's own document go the same way: xterm takes that one for its scrollbar. */
  readonly during: (act: () => void) => void;
  readonly dispose: () => void;
}

/**
 * A document whose `<style>` elements are adopted stylesheets: a policy without unsafe-inline refuses the text of an element
 * that a script makes, and takes a sheet that it fills.
 */
export function sheetsForStyles(target: Document): Sheets {
  const sheets: CSSStyleSheet[] = [];
  const make = target.createElement;
  const createElement = (name: string, options?: ElementCreationOptions): HTMLElement => {
    if (name.toLowerCase() !== "style") return styledByObject(make.call(target, name, options));
    // Even an empty style element is refused once it is in the page: something that is none takes its place.
    const element = make.call(target, "span");
    element.hidden = true;
    sheets.push(adopted(target, element));
    return element;
  };
  const document = new Proxy(target, {
    get(document, name) {
      if (name === "createElement") return createElement;
      const value: unknown = Reflect.get(document, name, document);
      return typeof value === "function" ? value.bind(document) : value;
    },
  });
  const during = (act: () => void): void => {
    target.createElement = createElement as Document["createElement"];
    try {
      act();
    } finally {
      target.createElement = make;
    }
  };
  const dispose = (): void => {
    target.adoptedStyleSheets = target.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
  };
  return { document, during, dispose };
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

/** A `style` attribute that a script writes is refused, too; the same said to the element's style object is not. */
function styledByObject(element: HTMLElement): HTMLElement {
  const setAttribute = element.setAttribute.bind(element);
  element.setAttribute = (name, value) => {
    if (name === "style") element.style.cssText = value;
    else setAttribute(name, value);
  };
  return element;
}

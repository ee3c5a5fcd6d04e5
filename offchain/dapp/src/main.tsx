// First, since what a part says of itself goes before what holds everywhere: rules count in the order that they come in.
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { answerWithoutGateway } from "./api/gateway";
import { App } from "./app/App";
import { Providers } from "./app/Providers";
import { applyTheme } from "./app/theme";

applyTheme();
answerWithoutGateway(async (path, query) => (await import("./alone")).answer(path, query));
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root.");
createRoot(root).render(
  <StrictMode>
    <Providers>
      <App />
    </Providers>
  </StrictMode>,
);

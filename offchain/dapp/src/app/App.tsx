import { Suspense } from "react";
import { Route, Routes } from "react-router";
import { Skeleton } from "../ui/Skeleton";
import { Header } from "./Header";
import { NoSuchPage } from "./NoSuchPage";
import { PageBoundary } from "./PageBoundary";
import { ROUTES } from "./routes";
import "./app.css";

/** The frame around every page: a way past the header, the header, the page, and who it is that answers. */
export function App() {
  return (
    <>
      <button type="button" className="skip button" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the page
      </button>
      <Header />
      <main id="main" tabIndex={-1}>
        <PageBoundary>
          <Suspense fallback={<Skeleton rows={8} />}>
            <Routes>
              {ROUTES.map(({ path, page: Shown }) => (
                <Route key={path} path={path} element={<Shown />} />
              ))}
              <Route path="*" element={<NoSuchPage />} />
            </Routes>
          </Suspense>
        </PageBoundary>
      </main>
    </>
  );
}

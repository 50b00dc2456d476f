import { render } from "preact";
import { App } from "./App";
import { applyTheme, loadTheme } from "./settings";
import "./styles/main.css";

applyTheme(loadTheme());
const root = document.getElementById("app");
if (root) render(<App />, root);

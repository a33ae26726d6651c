// The page of the tests: the SDK's own functions under their own names, so that code of the README runs as it stands.
import * as app from "@firebase/app";
import * as auth from "@firebase/auth";

Object.assign(globalThis, app, auth);

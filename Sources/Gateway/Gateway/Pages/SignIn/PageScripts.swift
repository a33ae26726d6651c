/// Scripts of the pages for sign-ins at providers. They are served as files, since the pages allow no other.
enum PageScripts {
  /// Script of the handler. Only addresses that the gateway has checked at the begin of a flow are gone to.
  static let handler = #"""
    "use strict";
    (() => {
      const KEY = "countersign.flow";
      const CANCELED = ["access_denied", "user_cancelled_authorize", "user_denied"];
      const page = document.querySelector("main").dataset;
      const context = page.context ? JSON.parse(page.context) : null;

      function show(name) {
        for (const text of document.querySelectorAll("[data-text]")) text.hidden = text.dataset.text !== name;
      }

      // A code of the protocol as SDKs have it.
      function failure(code, message) {
        return { error: { code: `auth/${code.toLowerCase().replaceAll("_", "-")}`, message } };
      }

      function encode(fields) {
        return fields.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
      }

      // To the provider.
      function start() {
        const state = new URL(page.address).searchParams.get("state");
        try {
          sessionStorage.setItem(KEY, JSON.stringify({ ...context, state }));
        } catch {
          show("storage");
          end(context, failure("WEB_STORAGE_UNSUPPORTED", ""));
          return;
        }
        location.replace(page.address);
      }

      // The flow that began here with a state, once.
      function begun(state) {
        try {
          const flow = JSON.parse(sessionStorage.getItem(KEY));
          if (!state || flow?.state !== state) return null;
          sessionStorage.removeItem(KEY);
          return flow;
        } catch {
          return null;
        }
      }

      // Back from the provider, in the query, the fragment or a form.
      function answer() {
        const own = location.origin + location.pathname;
        const link = page.answer ? `${own}?${page.answer}` : location.href;
        const fields = new URLSearchParams(page.answer ?? location.search);
        const fragment = new URLSearchParams(location.hash.slice(1));
        const field = (name) => fields.get(name) ?? fragment.get(name);
        history.replaceState(null, "", location.pathname);
        const flow = begun(field("state"));
        if (!flow) return show("lost");
        const error = field("error");
        if (!error) return end(flow, { link });
        const message = /^[\w.-]{1,64}$/.test(error) ? `The provider answered: ${error}` : "The provider refused.";
        end(flow, failure(CANCELED.includes(error) ? "USER_CANCELLED" : "INTERNAL_ERROR", message));
      }

      // To the SDK.
      function end(flow, outcome) {
        if (flow.scheme) return toApp(flow, outcome);
        const event = {
          type: flow.authType, eventId: flow.eventId ?? null, urlResponse: outcome.link ?? null, sessionId: flow.sessionId,
          postBody: null, tenantId: null, error: outcome.error ?? null,
        };
        if (!flow.redirectUrl) return toFrame(flow, event);
        try {
          sessionStorage.setItem(`countersign.event:${flow.apiKey}:${flow.appName}`, JSON.stringify(event));
        } catch {
          return show("storage");
        }
        location.replace(flow.redirectUrl);
      }

      function toFrame(flow, event) {
        const frame = frameOf(flow);
        if (!frame) return show("lost");
        // The SDK closes the window when it has signed in.
        let last = setTimeout(() => show("lost"), 10000);
        addEventListener("message", (message) => {
          if (message.source !== frame || message.origin !== location.origin) return;
          if (message.data?.countersign !== "taken") return;
          clearTimeout(last);
          last = setTimeout(() => show(event.error ? "lost" : "done"), 3000);
        });
        frame.postMessage({ countersign: "event", event }, location.origin);
      }

      function frameOf(flow) {
        const frames = window.opener?.frames ?? [];
        for (let index = 0; index < frames.length; index++) {
          try {
            const { pathname, search } = frames[index].location;
            const query = new URLSearchParams(search);
            const isOurs = ["/__/auth/iframe", "/emulator/auth/iframe"].includes(pathname);
            if (isOurs && query.get("apiKey") === flow.apiKey && query.get("appName") === flow.appName) {
              return frames[index];
            }
          } catch {
            // A frame of another origin.
          }
        }
        return null;
      }

      function toApp(flow, outcome) {
        const fields = [["authType", flow.authType], ["eventId", flow.eventId]];
        if (outcome.link) fields.push(["link", outcome.link]);
        if (outcome.token) fields.push(["recaptchaToken", outcome.token]);
        if (outcome.error) fields.push(["firebaseError", JSON.stringify(outcome.error)]);
        const link = `${location.origin}/__/auth/callback?${encode(fields)}`;
        const address = `${flow.scheme}://firebaseauth/link?${encode([["deep_link_id", link]])}`;
        const app = document.querySelector("#app");
        app.href = address;
        app.hidden = false;
        location.replace(address);
      }

      // reCAPTCHA, which asks the user only where Google wants a puzzle.
      function check() {
        const fail = () => {
          show("lost");
          end(context, failure("NETWORK_REQUEST_FAILED", "reCAPTCHA does not answer."));
        };
        window.countersignCheck = () => {
          const id = grecaptcha.render("check", {
            sitekey: page.sitekey, size: "invisible", callback: (token) => end(context, { token }),
            "error-callback": fail, "expired-callback": () => grecaptcha.execute(id),
          });
          grecaptcha.execute(id);
        };
        const script = document.createElement("script");
        const options = [["onload", "countersignCheck"], ["render", "explicit"], ["hl", page.language]];
        script.src = `https://www.google.com/recaptcha/api.js?${encode(options)}`;
        script.onerror = fail;
        document.head.append(script);
      }

      show("wait");
      switch (page.page) {
        case "start": return start();
        case "answer": return answer();
        case "check": return check();
        case "failed": return end(context, failure(page.error, ""));
      }
    })();

    """#

  static let frame = #"""
    "use strict";
    (() => {
      const query = new URLSearchParams(location.search);
      const key = `countersign.event:${query.get("apiKey")}:${query.get("appName")}`;
      const waiting = [];
      let send = (event) => waiting.push(event);

      // An event of a redirect, once.
      function kept() {
        try {
          const event = JSON.parse(sessionStorage.getItem(key));
          sessionStorage.removeItem(key);
          return event;
        } catch {
          return null;
        }
      }

      addEventListener("message", (message) => {
        if (message.origin !== location.origin || message.data?.countersign !== "event") return;
        send(message.data.event);
        message.source.postMessage({ countersign: "taken" }, location.origin);
      });

      window.countersignFrame = () => gapi.load("gapi.iframes", () => {
        const parent = gapi.iframes.getContext().getParentIframe();
        const filter = gapi.iframes.CROSS_ORIGIN_IFRAMES_FILTER;
        parent.register("webStorageSupport", () => ({ status: "ACK", webStorageSupport: true }), filter);
        send = (authEvent) => parent.send("authEvent", { type: "authEvent", authEvent }, () => {}, filter);
        send(kept() ?? { type: "unknown", error: { code: "auth/no-auth-event" } });
        for (const event of waiting) send(event);
      });
    })();

    """#
}

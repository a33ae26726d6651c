// Stand-in for two scripts of Google's that the SDK and the gateway's pages load, which no test can have: gapi.iframes and
// reCAPTCHA. Written after the calls that they make, with messages between windows in place of Google's own.
(() => {
  const waiting = new Map();
  let number = 0;

  class Iframe {
    constructor(peer, frame) {
      this.peer = peer;
      this.frame = frame;
      this.handlers = {};
      this.early = {};
      addEventListener("message", (message) => message.source === this.peer() && this.take(message.data));
    }

    take({ gapi, id, name, value }) {
      if (gapi === "call") {
        const handler = name === "ping" ? () => "pong" : this.handlers[name];
        // Frames send before their parent is ready, and rely on that the call waits.
        if (!handler) return void (this.early[name] ??= []).push({ gapi, id, name, value });
        Promise.resolve(handler(value)).then((answer) => this.post({ gapi: "answer", id, value: [answer] }));
      } else if (gapi === "answer") {
        waiting.get(id)?.(value);
        waiting.delete(id);
      }
    }

    post(message) { this.peer().postMessage(message, "*"); }

    send(name, value, callback) {
      return new Promise((resolve) => {
        waiting.set(++number, (answer) => { callback?.(answer); resolve(answer); });
        this.post({ gapi: "call", id: number, name, value });
      });
    }

    register(name, handler) {
      this.handlers[name] = handler;
      for (const call of this.early[name]?.splice(0) ?? []) this.take(call);
    }
    async restyle() {}

    // The other side may not be there yet.
    ping(callback) {
      return new Promise((resolve) => {
        const again = setInterval(() => this.send("ping", null, () => { clearInterval(again); callback?.(); resolve(); }), 50);
      });
    }
  }

  const context = {
    open({ where, url, attributes }, opened) {
      const frame = document.createElement("iframe");
      Object.assign(frame.style, attributes.style);
      frame.src = url;
      where.append(frame);
      return opened(new Iframe(() => frame.contentWindow, frame));
    },
    getParentIframe() { return (this.parent ??= new Iframe(() => parent)); },
  };

  globalThis.gapi = {
    load: (_, options) => (typeof options === "function" ? options() : options.callback()),
    iframes: { Iframe, CROSS_ORIGIN_IFRAMES_FILTER: () => true, getContext: () => context },
  };

  let check;
  globalThis.grecaptcha = {
    render: (place, options) => { check = options; document.getElementById(place).dataset.sitekey = options.sitekey; return 0; },
    execute: () => setTimeout(() => check.callback(`stand-in:${check.sitekey}`), 10),
  };

  const onload = new URL(document.currentScript.src).searchParams.get("onload");
  globalThis[onload]?.();
})();

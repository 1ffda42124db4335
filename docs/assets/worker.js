/* Browsers start no workers for pages that are opened as files. The search then runs in a hidden frame instead: the
   same script, the same messages. */
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      this.onmessage = this.onerror = this.onmessageerror = null
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.title = "search"
      this.frame.srcdoc = "<!doctype html><title>search</title>"
      this.frame.addEventListener("load", () => this.begin(new URL(address, document.baseURI).href), { once: true })
      document.body.append(this.frame)
    }

    begin(address) {
      const inside = this.frame.contentWindow
      inside.postMessage = (data) => setTimeout(() => this.onmessage && this.onmessage({ data: structuredClone(data) }))
      const script = inside.document.createElement("script")
      script.src = address
      script.addEventListener("load", () => {
        this.inside = inside
        this.waiting.splice(0).forEach((data) => this.hand(data))
      })
      script.addEventListener("error", (event) => this.onerror && this.onerror(event))
      inside.document.head.append(script)
    }

    postMessage(data) {
      if (this.inside) this.hand(data)
      else this.waiting.push(data)
    }

    hand(data) {
      const message = new MessageEvent("message", { data: structuredClone(data) })
      setTimeout(() => this.inside.onmessage ? this.inside.onmessage(message) : this.inside.dispatchEvent(message))
    }

    terminate() {
      this.frame.remove()
    }
  }
}

/// Outcome of a call: a JSON object for SDKs and libraries, a page or another address for browsers.
enum CallOutcome: Sendable {
  case json(CallAnswer)
  case page(CallPage)
  case script([UInt8])
  /// An address to go on to.
  case redirect(String)
}

/// A page of the gateway. Browsers do not keep it, and do not pass its address on, which has a code.
struct CallPage: Sendable {
  var status = 200
  let html: [UInt8]
  /// Content Security Policy: all that the page may load, and who may frame it.
  let policy: String
  /// Whether pages may frame it, those that its policy names.
  var mayBeFramed = false
}

import CCurl
import Curl
import Dispatch

/// One libcurl easy handle, reused for one request after another, with what its callbacks collect.
///
/// Not `Sendable`: it belongs to the loop. The callbacks run on the loop's queue, inside the loop's own calls of
/// libcurl, and reach nothing but their slot.
final class Slot {
  /// Longer ones fail with `.tooLarge`.
  static let maxHeaderBytes = 65_536
  /// Both are libcurl's smallest. Requests here are short, and each transfer has its own.
  private static let uploadBufferBytes = 16_384
  private static let downloadBufferBytes = 16_384

  let easy: EasyHandle
  let connections: Connections
  let configuration: HTTPClient.Configuration
  private var headerList: UnsafeMutablePointer<curl_slist>?
  private var url = ""
  private var headerFields: [(name: String, value: String)]?
  private var shape: Shape?

  /// Properties that libcurl keeps in several options at once. If they change, the handle is reset.
  private struct Shape: Equatable {
    let method: String
    let hasBody: Bool
  }

  // The request under way.
  var submission: RequestSubmission?
  var headerLines: [UInt8] = []
  var body: [UInt8] = []
  var isTooLarge = false
  /// Whether the configuration does not allow an address of the host.
  var isAddressRefused = false
  /// Number of times libcurl was about to write the request. 0 means that certainly no byte of it left.
  var attempts = 0
  /// Those that were opened for this request.
  var sockets: [curl_socket_t] = []
  var isResendPrevented = false
  var hasBegunTLS = false
  var hasFirstByte = false
  /// In nanoseconds of the monotonic clock.
  var firstByteDeadline: UInt64?

  /// `nil` when libcurl has no memory.
  init?(_ configuration: HTTPClient.Configuration, _ connections: Connections) {
    guard let easy = EasyHandle() else { return nil }
    self.easy = easy
    self.connections = connections
    self.configuration = configuration
  }

  deinit {
    easy.cleanUp()
    curl_slist_free_all(headerList)
  }

  /// `remaining` nanoseconds are left of its total time-out.
  func prepare(_ submission: RequestSubmission, remaining: UInt64) -> CURLcode {
    let request = submission.request
    self.submission = submission
    forget()
    do {
      let shape = Shape(method: request.method, hasBody: request.body != nil)
      if self.shape != shape {
        self.shape = nil
        try setUp(shape)
        self.shape = shape
      }
      try easy.set(CURLOPT_TIMEOUT_MS, Self.milliseconds(remaining))
      try easy.set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(request.timeouts.connect.nanoseconds))
      if url != request.url {
        try easy.set(CURLOPT_URL, request.url)
        url = request.url
      }
      try setBody(request.body)
      try setHeaders(request)
    } catch {
      self.shape = nil
      return error.code
    }
    return CURLE_OK
  }

  func finish() -> RequestSubmission? {
    defer { submission = nil }
    return submission
  }

  private func forget() {
    headerLines.removeAll(keepingCapacity: true)
    body = []
    isTooLarge = false
    isAddressRefused = false
    attempts = 0
    sockets.removeAll(keepingCapacity: true)
    isResendPrevented = false
    hasBegunTLS = false
    hasFirstByte = false
    firstByteDeadline = nil
    easy.clearFailureText()
  }

  private static func milliseconds(_ nanoseconds: UInt64) -> Int { max(1, Int(nanoseconds / 1_000_000)) }
}

extension Slot {
  private func setUp(_ shape: Shape) throws(OptionRefused) {
    curl_easy_reset(easy.pointer)
    url = ""
    headerFields = nil
    try setCallbacks()
    try easy.set(CURLOPT_NOSIGNAL, 1)
    try easy.set(CURLOPT_FOLLOWLOCATION, 0)
    try easy.set(CURLOPT_PATH_AS_IS, 1)
    try easy.set(CURLOPT_UPLOAD_BUFFERSIZE, Self.uploadBufferBytes)
    try easy.set(CURLOPT_BUFFERSIZE, Self.downloadBufferBytes)
    // A name server that does not answer must not hold up the queue: without it libcurl waits for its resolver's
    // thread.
    try easy.set(CURLOPT_QUICK_EXIT, 1)
    try easy.set(CURLOPT_TCP_KEEPALIVE, 1)
    try easy.set(CURLOPT_MAXAGE_CONN, Int(configuration.pool.maxIdle.components.seconds))
    try easy.set(CURLOPT_MAXLIFETIME_CONN, Int(configuration.pool.maxLifetime.components.seconds))
    // Wait to learn whether a connection that is being opened can carry this request as well (HTTP/2).
    try easy.set(CURLOPT_PIPEWAIT, 1)
    try easy.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    try easy.set(CURLOPT_HTTP_VERSION, version)
    try easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
    // An empty string: no proxy, whatever the environment says.
    try easy.set(CURLOPT_PROXY, "")
    try easy.set(CURLOPT_USERAGENT, configuration.userAgent)
    try Authorities.set(configuration.caFile, on: easy)
    if let certificate = configuration.clientCertificate {
      try easy.set(CURLOPT_SSLCERT, certificate.file)
      try easy.set(CURLOPT_SSLKEY, certificate.keyFile)
    }
    try setMethod(shape)
  }

  private var version: Int {
    switch configuration.version {
    case .http1: CURL_HTTP_VERSION_1_1
    case .http2: CURL_HTTP_VERSION_2TLS
    }
  }

  private func setMethod(_ shape: Shape) throws(OptionRefused) {
    switch (shape.method, shape.hasBody) {
    case ("GET", false): try easy.set(CURLOPT_HTTPGET, 1)
    case ("HEAD", false): try easy.set(CURLOPT_NOBODY, 1)
    case ("POST", _): try easy.set(CURLOPT_POST, 1)
    case (let method, true):
      try easy.set(CURLOPT_POST, 1)
      try easy.set(CURLOPT_CUSTOMREQUEST, method)
    case (let method, false): try easy.set(CURLOPT_CUSTOMREQUEST, method)
    }
  }

  /// libcurl copies it, and sends a short one together with the headers.
  private func setBody(_ body: [UInt8]?) throws(OptionRefused) {
    guard let shape, shape.hasBody || shape.method == "POST" else { return }
    let body = body ?? []
    try easy.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: body.count)
    let code = body.withUnsafeBytes { bytes in
      withUnsafePointer(to: UInt8(0)) { nothing in
        ccurl_set_pointer(easy.pointer, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress ?? UnsafeRawPointer(nothing))
      }
    }
    try EasyHandle.check(code)
  }

  private func setHeaders(_ request: HTTPRequest) throws(OptionRefused) {
    let fields = request.headers.fields
    // The requests of a lane have the same ones, as a rule.
    if let headerFields, headerFields.elementsEqual(fields, by: ==) { return }
    headerFields = nil
    var list: UnsafeMutablePointer<curl_slist>?
    for (name, value) in fields {
      // "Name:" would remove the field, "Name;" sends it empty.
      list = curl_slist_append(list, value.isEmpty ? "\(name);" : "\(name): \(value)")
    }
    // What libcurl would add by itself: a round trip for long bodies, and a media type that may be wrong.
    if request.headers["Expect"] == nil { list = curl_slist_append(list, "Expect:") }
    if request.headers["Content-Type"] == nil { list = curl_slist_append(list, "Content-Type:") }
    let code = ccurl_set_pointer(easy.pointer, CURLOPT_HTTPHEADER, list)
    curl_slist_free_all(headerList)
    headerList = list
    try EasyHandle.check(code)
    headerFields = fields
  }

  private func setCallbacks() throws(OptionRefused) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    try easy.set(CURLOPT_PRIVATE, pointer: context)
    try easy.set(CURLOPT_WRITEDATA, pointer: context)
    try easy.set(CURLOPT_HEADERDATA, pointer: context)
    try easy.set(CURLOPT_PREREQDATA, pointer: context)
    try easy.set(CURLOPT_WRITEFUNCTION) { Slot.from($3).onBody($0, $1 * $2) }
    try easy.set(CURLOPT_HEADERFUNCTION) { Slot.from($3).onHeader($0, $1 * $2) }
    try EasyHandle.check(
      ccurl_set_prerequest_function(easy.pointer) { context, _, _, _, _ in Slot.from(context).onRequest() })
    try easy.set(CURLOPT_SSL_CTX_DATA, pointer: context)
    try EasyHandle.check(ccurl_set_tls_function(easy.pointer) { _, _, context in Slot.from(context).onHandshake() })
    try easy.collectFailureText()
    try easy.set(CURLOPT_OPENSOCKETDATA, pointer: context)
    try EasyHandle.check(
      ccurl_set_open_function(easy.pointer) { context, _, address in Slot.from(context).onSocket(address) })
    // A connection outlives the slot that opened it.
    try easy.set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(connections).toOpaque())
    try EasyHandle.check(ccurl_set_close_function(easy.pointer) { Connections.from($0).close($1) })
  }
}

import CCurl
import Dispatch

/// One libcurl easy handle, reused for one request after another, with what its callbacks collect.
///
/// Not `Sendable`: it belongs to the loop. The callbacks run on the loop's queue, inside the loop's own calls of
/// libcurl, and reach nothing but their slot.
final class Slot {
  /// Header lines of one answer; longer ones fail with `.tooLarge`.
  static let maxHeaderBytes = 65_536
  /// Both are libcurl's smallest; requests here are short, and each transfer has its own.
  private static let uploadBufferBytes = 16_384
  private static let downloadBufferBytes = 16_384

  let easy: UnsafeMutableRawPointer
  let connections: Connections
  private let configuration: HTTPClient.Configuration
  private var headerList: UnsafeMutablePointer<curl_slist>?
  private var url = ""
  /// The fields that `headerList` was made of.
  private var headerFields: [(name: String, value: String)]?
  private var shape: Shape?
  private let message = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  /// Properties that libcurl keeps in several options at once; if they change, the handle is reset.
  private struct Shape: Equatable {
    let method: String
    let hasBody: Bool
  }

  // The request under way.
  var submission: RequestSubmission?
  var headerLines: [UInt8] = []
  var body: [UInt8] = []
  var isTooLarge = false
  /// Number of times libcurl was about to write the request; 0 means that certainly no byte of it left.
  var attempts = 0
  /// Those that were opened for this request.
  var sockets: [curl_socket_t] = []
  var isResendPrevented = false
  var hasBegunTLS = false
  var hasFirstByte = false
  /// When the time-out for the first byte ends, in nanoseconds of the monotonic clock.
  var firstByteDeadline: UInt64?

  /// `nil` when libcurl has no memory.
  init?(_ configuration: HTTPClient.Configuration, _ connections: Connections) {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    self.connections = connections
    self.configuration = configuration
  }

  deinit {
    curl_easy_cleanup(easy)
    curl_slist_free_all(headerList)
    message.deallocate()
  }

  /// Sets every option for the request. `remaining` nanoseconds are left of its total time-out.
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
      try set(CURLOPT_TIMEOUT_MS, Self.milliseconds(remaining))
      try set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(request.timeouts.connect.nanoseconds))
      if url != request.url {
        try check(ccurl_set_string(easy, CURLOPT_URL, request.url))
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

  /// Gives up the request.
  func finish() -> RequestSubmission? {
    defer { submission = nil }
    return submission
  }

  /// libcurl's own text of the last failure: names of hosts and certificates, no paths.
  var failureText: String { String(cString: message) }

  private func forget() {
    headerLines.removeAll(keepingCapacity: true)
    body = []
    isTooLarge = false
    attempts = 0
    sockets.removeAll(keepingCapacity: true)
    isResendPrevented = false
    hasBegunTLS = false
    hasFirstByte = false
    firstByteDeadline = nil
    message[0] = 0
  }

  private static func milliseconds(_ nanoseconds: UInt64) -> Int { max(1, Int(nanoseconds / 1_000_000)) }
}

/// A code of libcurl on its way out of `prepare`.
private struct OptionRefused: Error { let code: CURLcode }

extension Slot {
  private func setUp(_ shape: Shape) throws(OptionRefused) {
    curl_easy_reset(easy)
    url = ""
    headerFields = nil
    try setCallbacks()
    try set(CURLOPT_NOSIGNAL, 1)
    try set(CURLOPT_FOLLOWLOCATION, 0)
    try set(CURLOPT_PATH_AS_IS, 1)
    try set(CURLOPT_UPLOAD_BUFFERSIZE, Self.uploadBufferBytes)
    try set(CURLOPT_BUFFERSIZE, Self.downloadBufferBytes)
    // A name server that does not answer must not hold up the queue: without it libcurl waits for its resolver's
    // thread.
    try set(CURLOPT_QUICK_EXIT, 1)
    try set(CURLOPT_TCP_KEEPALIVE, 1)
    try set(CURLOPT_MAXAGE_CONN, Int(configuration.pool.maxIdle.components.seconds))
    try set(CURLOPT_MAXLIFETIME_CONN, Int(configuration.pool.maxLifetime.components.seconds))
    // Wait to learn whether a connection that is being opened can carry this request as well (HTTP/2).
    try set(CURLOPT_PIPEWAIT, 1)
    try set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    try set(CURLOPT_HTTP_VERSION, version)
    try set(CURLOPT_PROTOCOLS_STR, "http,https")
    // An empty string: no proxy, whatever the environment says.
    try set(CURLOPT_PROXY, "")
    try set(CURLOPT_USERAGENT, configuration.userAgent)
    try check(Authorities.set(configuration.caFile, on: easy))
    if let certificate = configuration.clientCertificate {
      try set(CURLOPT_SSLCERT, certificate.file)
      try set(CURLOPT_SSLKEY, certificate.keyFile)
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
    case ("GET", false): try set(CURLOPT_HTTPGET, 1)
    case ("HEAD", false): try set(CURLOPT_NOBODY, 1)
    case ("POST", _): try set(CURLOPT_POST, 1)
    case (let method, true):
      try set(CURLOPT_POST, 1)
      try set(CURLOPT_CUSTOMREQUEST, method)
    case (let method, false): try set(CURLOPT_CUSTOMREQUEST, method)
    }
  }

  /// libcurl copies it, and sends a short one together with the headers.
  private func setBody(_ body: [UInt8]?) throws(OptionRefused) {
    guard let shape, shape.hasBody || shape.method == "POST" else { return }
    let body = body ?? []
    try check(ccurl_set_off(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)))
    let code = body.withUnsafeBytes { bytes in
      withUnsafePointer(to: UInt8(0)) { nothing in
        ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress ?? UnsafeRawPointer(nothing))
      }
    }
    try check(code)
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
    let code = ccurl_set_pointer(easy, CURLOPT_HTTPHEADER, list)
    curl_slist_free_all(headerList)
    headerList = list
    try check(code)
    headerFields = fields
  }

  private func setCallbacks() throws(OptionRefused) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    try check(ccurl_set_pointer(easy, CURLOPT_PRIVATE, context))
    try check(ccurl_set_pointer(easy, CURLOPT_WRITEDATA, context))
    try check(ccurl_set_pointer(easy, CURLOPT_HEADERDATA, context))
    try check(ccurl_set_pointer(easy, CURLOPT_PREREQDATA, context))
    try check(ccurl_set_data_function(easy, CURLOPT_WRITEFUNCTION) { Slot.from($3).onBody($0, $1 * $2) })
    try check(ccurl_set_data_function(easy, CURLOPT_HEADERFUNCTION) { Slot.from($3).onHeader($0, $1 * $2) })
    try check(ccurl_set_prerequest_function(easy) { context, _, _, _, _ in Slot.from(context).onRequest() })
    try check(ccurl_set_pointer(easy, CURLOPT_SSL_CTX_DATA, context))
    try check(ccurl_set_tls_function(easy) { _, _, context in Slot.from(context).onHandshake() })
    try check(ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, message))
    try check(ccurl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, context))
    try check(ccurl_set_open_function(easy) { context, _, address in Slot.from(context).onSocket(address) })
    // A connection outlives the slot that opened it.
    try check(
      ccurl_set_pointer(easy, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(connections).toOpaque()))
    try check(ccurl_set_close_function(easy) { Connections.from($0).close($1) })
  }

  private func set(_ option: CURLoption, _ value: Int) throws(OptionRefused) {
    try check(ccurl_set_long(easy, option, value))
  }

  private func set(_ option: CURLoption, _ value: String) throws(OptionRefused) {
    try check(ccurl_set_string(easy, option, value))
  }

  private func check(_ code: CURLcode) throws(OptionRefused) {
    guard code == CURLE_OK else { throw OptionRefused(code: code) }
  }
}

import CCurl
import Curl
import Dispatch

/// An easy handle of libcurl that speaks SMTP, with what its callbacks collect.
///
/// Not `Sendable`: it belongs to its session. The callbacks run inside `curl_easy_perform` and `curl_easy_cleanup`, on
/// the session's queue, and reach nothing but their handle.
final class SMTPHandle {
  private static let bufferBytes = 16_384

  let configuration: SMTPConfiguration
  private let easy: EasyHandle
  private var dialogue = SMTPDialogue()
  private var recipients: UnsafeMutablePointer<curl_slist>?
  private var content: [UInt8] = []
  private var offset = 0
  private var isInternational = false
  private var lacksSMTPUTF8 = false
  private var isTimedOut = false
  private var stageSeen = SMTPStage.connect
  private var stageBegun: UInt64 = 0
  private var isCancelled: () -> Bool = { false }

  /// `nil` when libcurl has no memory.
  init?(_ configuration: SMTPConfiguration) {
    guard let easy = EasyHandle() else { return nil }
    self.configuration = configuration
    self.easy = easy
    do { try setUp() } catch { return nil }
  }

  deinit {
    // Says QUIT to a server that is still there. The callbacks need the handle until then.
    easy.cleanUp()
    curl_slist_free_all(recipients)
  }

  func perform(
    _ task: SMTPSession.Task, timeout: Duration, isFresh: Bool, isCancelled: @escaping () -> Bool
  ) -> Result<SMTPReply, SMTPFailure> {
    dialogue.begin()
    easy.clearFailureText()
    offset = 0
    lacksSMTPUTF8 = false
    isTimedOut = false
    stageSeen = .connect
    stageBegun = DispatchTime.now().uptimeNanoseconds
    self.isCancelled = isCancelled
    defer {
      content = []
      self.isCancelled = { false }
    }
    do {
      try prepare(timeout: timeout)
      try prepare(task)
      // What a server offers is known when it is asked; the answer of an earlier connection may be out of date.
      let isFresh = isFresh || isInternational && !dialogue.offersSMTPUTF8
      try easy.set(CURLOPT_FRESH_CONNECT, isFresh ? 1 : 0)
    } catch {
      return .failure(failure(.other, "libcurl refused an option"))
    }
    guard !isCancelled() else { return .failure(failure(.canceled, "canceled before it began")) }
    return result(curl_easy_perform(easy.pointer))
  }

  private func prepare(_ task: SMTPSession.Task) throws(OptionRefused) {
    curl_slist_free_all(recipients)
    recipients = nil
    switch task {
    case .message(let mail):
      content = mail.content
      isInternational = mail.isInternational
      recipients = curl_slist_append(nil, "<\(mail.recipient)>")
      try easy.set(CURLOPT_CUSTOMREQUEST, nil)
      try easy.set(CURLOPT_NOBODY, 0)
      try easy.set(CURLOPT_UPLOAD, 1)
      // Of a message whose size it knows, libcurl takes the end for reached when it has sent so many bytes, although it
      // has doubled dots meanwhile; and it does not ask for the end, which is the sign that the final dot comes next.
      try easy.set(CURLOPT_INFILESIZE_LARGE, offset: -1)
      try easy.set(CURLOPT_MAIL_FROM, "<\(mail.sender)>")
    case .check:
      isInternational = false
      try easy.set(CURLOPT_UPLOAD, 0)
      try easy.set(CURLOPT_MAIL_FROM, nil)
      try easy.set(CURLOPT_NOBODY, 1)
      try easy.set(CURLOPT_CUSTOMREQUEST, "NOOP")
    }
    try easy.set(CURLOPT_MAIL_RCPT, pointer: recipients)
  }

  /// The stages have their own times, see `onProgress`. Libcurl's must not be shorter.
  private func prepare(timeout: Duration) throws(OptionRefused) {
    let milliseconds = max(1, Int(timeout.nanoseconds / 1_000_000))
    try easy.set(CURLOPT_TIMEOUT_MS, milliseconds)
    try easy.set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds)
    try easy.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, milliseconds / 1000 + 1)
  }

  private func setUp() throws(OptionRefused) {
    try setCallbacks()
    try easy.set(CURLOPT_URL, configuration.url)
    try easy.set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
    // An empty string: no proxy, whatever the environment says.
    try easy.set(CURLOPT_PROXY, "")
    try easy.set(
      CURLOPT_USE_SSL, Int((configuration.security == .starttls ? CURLUSESSL_ALL : CURLUSESSL_NONE).rawValue))
    try easy.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    try Authorities.set(configuration.caFile, on: easy)
    if let credentials = configuration.credentials {
      try easy.set(CURLOPT_USERNAME, credentials.username)
      try easy.set(CURLOPT_PASSWORD, credentials.password)
    }
    try easy.set(CURLOPT_SASL_IR, 1)
    try easy.set(CURLOPT_NOSIGNAL, 1)
    try easy.set(CURLOPT_TCP_KEEPALIVE, 1)
    try easy.set(CURLOPT_UPLOAD_BUFFERSIZE, Self.bufferBytes)
    try easy.set(CURLOPT_BUFFERSIZE, Self.bufferBytes)
    try easy.set(CURLOPT_MAXAGE_CONN, Int(configuration.pool.maxIdle.components.seconds))
    try easy.set(CURLOPT_MAXLIFETIME_CONN, Int(configuration.pool.maxLifetime.components.seconds))
  }

  private func setCallbacks() throws(OptionRefused) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    try easy.collectFailureText()
    try easy.set(CURLOPT_READDATA, pointer: context)
    try easy.set(CURLOPT_READFUNCTION) { SMTPHandle.from($3).onRead($0, $1 * $2) }
    try easy.set(CURLOPT_HEADERDATA, pointer: context)
    try easy.set(CURLOPT_HEADERFUNCTION) { SMTPHandle.from($3).onReply($0, $1 * $2) }
    try easy.set(CURLOPT_WRITEFUNCTION) { _, size, count, _ in size * count }
    try easy.set(CURLOPT_DEBUGDATA, pointer: context)
    try EasyHandle.check(ccurl_set_debug_function(easy.pointer) { SMTPHandle.from($4).onDebug($1, $2, $3) })
    // Without it libcurl does not call the function above.
    try easy.set(CURLOPT_VERBOSE, 1)
    try easy.set(CURLOPT_XFERINFODATA, pointer: context)
    try EasyHandle.check(
      ccurl_set_progress_function(easy.pointer) { context, _, _, _, _ in SMTPHandle.from(context).onProgress() })
    try easy.set(CURLOPT_NOPROGRESS, 0)
    try easy.set(CURLOPT_SSL_CTX_DATA, pointer: context)
    try EasyHandle.check(
      ccurl_set_tls_function(easy.pointer) { _, _, context in SMTPHandle.from(context).onHandshake() })
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> SMTPHandle {
    Unmanaged<SMTPHandle>.fromOpaque(context!).takeUnretainedValue()
  }
}

// MARK: - What libcurl calls

extension SMTPHandle {
  private func onRead(_ buffer: UnsafeMutablePointer<CChar>?, _ room: Int) -> Int {
    let count = min(room, content.count - offset)
    guard count > 0, let buffer else {
      dialogue.contentEnds()
      return 0
    }
    dialogue.sendsContent()
    content.withUnsafeBytes { bytes in
      UnsafeMutableRawPointer(buffer).copyMemory(from: bytes.baseAddress! + offset, byteCount: count)
    }
    offset += count
    return count
  }

  /// A line of a reply. Fewer bytes than `count` end the dialogue: before MAIL, since the server cannot take the
  /// addresses.
  private func onReply(_ line: UnsafePointer<CChar>?, _ count: Int) -> Int {
    let bytes = UnsafeRawBufferPointer(start: line, count: count)
    var text = String(decoding: bytes, as: UTF8.self)
    while let last = text.unicodeScalars.last, last == "\r" || last == "\n" { text.unicodeScalars.removeLast() }
    dialogue.receives(text)
    lacksSMTPUTF8 = isInternational && dialogue.hasGreeted(after: configuration.security) && !dialogue.offersSMTPUTF8
    return lacksSMTPUTF8 ? 0 : count
  }

  private func onDebug(_ kind: curl_infotype, _ data: UnsafePointer<CChar>?, _ count: Int) -> Int32 {
    switch kind {
    case CURLINFO_HEADER_OUT:
      // The longest verb has eight letters; nothing else of a command is looked at, be it an address or a password.
      dialogue.sends(String(decoding: UnsafeRawBufferPointer(start: data, count: min(count, 9)), as: UTF8.self))
    default: break
    }
    return 0
  }

  private func onHandshake() -> CURLcode {
    dialogue.tlsBegins()
    return CURLE_OK
  }

  /// Called at least once a second: ends what was canceled, and stages that take too long.
  private func onProgress() -> Int32 {
    if isCancelled() { return 1 }
    if easy.long(CURLINFO_NUM_CONNECTS) > 0 && easy.offset(CURLINFO_CONNECT_TIME_T) > 0 { dialogue.isConnected() }
    let now = DispatchTime.now().uptimeNanoseconds
    if dialogue.stage != stageSeen {
      stageSeen = dialogue.stage
      stageBegun = now
    }
    guard now - stageBegun > configuration.timeouts.limit(stageSeen).nanoseconds else { return 0 }
    isTimedOut = true
    return 1
  }
}

// MARK: - What became of it

extension SMTPHandle {
  private func result(_ code: CURLcode) -> Result<SMTPReply, SMTPFailure> {
    if easy.offset(CURLINFO_CONNECT_TIME_T) > 0, code != CURLE_SSL_CONNECT_ERROR { dialogue.isConnected() }
    // What the server has said after the final dot counts, whatever happens to the connection then.
    if let reply = dialogue.reply, dialogue.stage == .final || dialogue.stage == .check {
      return reply.code / 100 == 2 ? .success(reply) : .failure(failure(.refused, "\(reply.codes)"))
    }
    if let reply = dialogue.reply, reply.code >= 400 { return .failure(failure(.refused, "\(reply.codes)")) }
    return .failure(failure(code))
  }

  private func failure(_ code: CURLcode) -> SMTPFailure {
    if lacksSMTPUTF8 { return failure(.noSMTPUTF8, "the server does not offer SMTPUTF8") }
    return switch code {
    case CURLE_COULDNT_RESOLVE_HOST: failure(.resolve, "the name of the host is not known")
    case CURLE_COULDNT_CONNECT: failure(.connect, easy.failureText(code))
    case CURLE_USE_SSL_FAILED: failure(.noTLS, "the server offers no STARTTLS")
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR:
      failure(.untrusted, easy.failureText(code))
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_INITFAILED:
      failure(.tls, easy.failureText(code))
    case CURLE_LOGIN_DENIED: failure(.noAuthentication, easy.failureText(code))
    case CURLE_OPERATION_TIMEDOUT: failure(.timedOut, "timed out")
    case CURLE_ABORTED_BY_CALLBACK: isTimedOut ? failure(.timedOut, "timed out") : failure(.canceled, "canceled")
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_WEIRD_SERVER_REPLY, CURLE_PARTIAL_FILE:
      failure(.lost, "the connection was lost")
    default: failure(.other, easy.failureText(code))
    }
  }

  private func failure(_ kind: SMTPFailure.Kind, _ what: String) -> SMTPFailure {
    let stage = dialogue.stage
    return SMTPFailure(
      kind: kind, stage: stage, reply: kind == .refused ? dialogue.reply : nil,
      isReusedConnection: easy.long(CURLINFO_NUM_CONNECTS) == 0 && stage != .connect,
      description: "\(configuration.authority), \(stage.rawValue): \(what)")
  }
}

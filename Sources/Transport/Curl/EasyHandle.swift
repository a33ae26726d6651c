package import CCurl

/// An option that libcurl does not take.
package struct OptionRefused: Error {
  package let code: CURLcode
}

/// An easy handle of libcurl, and the text of its last failure.
///
/// Not `Sendable`: it belongs to the object that its callbacks reach, which cleans it up.
package struct EasyHandle {
  /// For calls of libcurl that are not below.
  package let pointer: UnsafeMutableRawPointer
  private let message: UnsafeMutablePointer<CChar>

  /// `nil` when libcurl has no memory.
  package init?() {
    guard let pointer = curl_easy_init() else { return nil }
    self.pointer = pointer
    message = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    message[0] = 0
  }

  /// Ends the handle and its connections, which may still call back.
  package func cleanUp() {
    curl_easy_cleanup(pointer)
    message.deallocate()
  }

  // MARK: - Options

  package func set(_ option: CURLoption, _ value: Int) throws(OptionRefused) {
    try Self.check(ccurl_set_long(pointer, option, value))
  }

  package func set(_ option: CURLoption, _ value: String?) throws(OptionRefused) {
    try Self.check(ccurl_set_string(pointer, option, value))
  }

  package func set(_ option: CURLoption, offset value: Int) throws(OptionRefused) {
    try Self.check(ccurl_set_off(pointer, option, curl_off_t(value)))
  }

  package func set(_ option: CURLoption, pointer value: UnsafeRawPointer?) throws(OptionRefused) {
    try Self.check(ccurl_set_pointer(pointer, option, value))
  }

  package func set(_ option: CURLoption, function: ccurl_data_function?) throws(OptionRefused) {
    try Self.check(ccurl_set_data_function(pointer, option, function))
  }

  package static func check(_ code: CURLcode) throws(OptionRefused) {
    guard code == CURLE_OK else { throw OptionRefused(code: code) }
  }

  // MARK: - What the transfer tells

  /// 0 when libcurl does not say.
  package func long(_ info: CURLINFO) -> Int {
    var value = 0
    return ccurl_get_long(pointer, info, &value) == CURLE_OK ? value : 0
  }

  /// 0 when libcurl does not say.
  package func offset(_ info: CURLINFO) -> Int64 {
    var value: curl_off_t = 0
    return ccurl_get_off(pointer, info, &value) == CURLE_OK ? Int64(value) : 0
  }

  /// Makes libcurl write its own text of a failure, until the handle is reset.
  package func collectFailureText() throws(OptionRefused) { try set(CURLOPT_ERRORBUFFER, pointer: message) }

  package func clearFailureText() { message[0] = 0 }

  /// libcurl's own text of the last failure: names of hosts and certificates, no paths and no addresses of mail.
  package func failureText(_ code: CURLcode) -> String {
    let text = String(cString: message)
    return text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
  }
}

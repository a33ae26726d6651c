import CMicroHTTPD

/// The functions that libmicrohttpd calls, all on the daemon's thread.
extension Daemon {
  /// Bytes of a body beyond the limit that are read and dropped before the connection is closed.
  private static let maxExcessBytes = 1_048_576

  /// A request line was read: the first call for a request, and the owner of its `Exchange`.
  func onTarget(connection: OpaquePointer?, target: UnsafePointer<CChar>?) -> UnsafeMutableRawPointer? {
    guard let connection, let target else { return nil }
    connections.begins(ConnectionTable.ID(connection))
    return Unmanaged.passRetained(Exchange(connection: connection, target: target)).toOpaque()
  }

  /// The request is over, whatever became of it: gives up the reference made by `onTarget`.
  func onCompleted(_ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) {
    guard let pointer = context?.pointee else { return }
    context?.pointee = nil
    let exchange = Unmanaged<Exchange>.fromOpaque(pointer).takeRetainedValue()
    connections.rests(ConnectionTable.ID(exchange.connection))
    end(exchange)
  }

  /// Called with the headers, then for each piece of the body, then with its end, and again after each resume.
  func onAccess(
    _ exchange: Exchange, method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?, data: UnsafePointer<CChar>?,
    size: UnsafeMutablePointer<Int>, isFirst: Bool
  ) -> MHD_Result {
    if isFirst { return onHeaders(exchange, method: method, version: version) }
    if size.pointee > 0 { return onBody(exchange, data: data, size: size) }
    if let reply = exchange.takeReply() { return send(reply, to: exchange) }
    guard exchange.isReceiving else { return .YES }
    if exchange.excessBytes > 0 { return refuse(exchange, .bodyTooLong, method: method) }
    begin(exchange, method: method.map { String(cString: $0) } ?? "")
    // Not accepted: the server stops.
    return exchange.isReceiving ? .NO : .YES
  }

  private func onHeaders(
    _ exchange: Exchange, method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?
  ) -> MHD_Result {
    let head = exchange.readHead(method: method, version: version.map { String(cString: $0) } ?? "")
    // A proxy may disagree about where a request without a length ends: nothing of it is read as another.
    exchange.closesConnection = head.problem != nil || head.isChunked
    if let problem = head.problem { return refuse(exchange, .malformed(problem), method: method) }
    guard let length = exchange.declaredLength() else { return .YES }
    if length > maxBodyBytes, let reason = admitLongBody(exchange, length, method: method) {
      return refuse(exchange, reason, method: method)
    }
    exchange.body.reserveCapacity(min(length, maxBodyBytes))
    return .YES
  }

  /// Reason against a long body. One in chunks, of unknown length, is never admitted.
  private func admitLongBody(
    _ exchange: Exchange, _ length: Int, method: UnsafePointer<CChar>?
  ) -> HTTPServerRefusal? {
    guard let longBodies else { return .bodyTooLong }
    let maxBytes = longBodies.maxBytes(exchange.request(method: method.map { String(cString: $0) } ?? ""))
    guard length <= maxBytes else { return .bodyTooLong }
    return takeLongBody(exchange, maxBytes: maxBytes) ? nil : .tooManyLongBodies
  }

  private func onBody(
    _ exchange: Exchange, data: UnsafePointer<CChar>?, size: UnsafeMutablePointer<Int>
  ) -> MHD_Result {
    let count = size.pointee
    size.pointee = 0
    if exchange.body.count + count > exchange.longBodyBytes ?? maxBodyBytes {
      exchange.body = []
      exchange.excessBytes += count
    }
    if exchange.excessBytes > 0 {
      return exchange.excessBytes <= Self.maxExcessBytes ? .YES : .NO
    }
    exchange.body.append(contentsOf: UnsafeRawBufferPointer(start: data, count: count))
    return .YES
  }

  private func refuse(
    _ exchange: Exchange, _ reason: HTTPServerRefusal, method: UnsafePointer<CChar>?
  ) -> MHD_Result {
    let request = exchange.request(method: method.map { String(cString: $0) } ?? "")
    return send(.respond(refusal(request, reason)), to: exchange)
  }

  func onConnection(_ connection: OpaquePointer, hasStarted: Bool) {
    let id = ConnectionTable.ID(connection)
    guard hasStarted else { return connections.closed(id) }
    connections.opened(
      id, ClientKey(cms_client_address(connection)), descriptor: cms_connection_fd(connection))
  }

  /// `MHD_NO` ends the connection.
  private func send(_ reply: HTTPServerReply, to exchange: Exchange) -> MHD_Result {
    connections.waits(ConnectionTable.ID(exchange.connection))
    switch reply {
    case .close: return .NO
    case .reset:
      cms_reset(exchange.connection)
      return .NO
    case .respond(let response):
      var response = response
      if exchange.closesConnection { response.headers.add(name: "Connection", value: "close") }
      guard let encoded = Self.encode(response) else { return .NO }
      defer { MHD_destroy_response(encoded.response) }
      return MHD_queue_response(exchange.connection, encoded.status, encoded.response)
    }
  }

  private static func encode(_ response: HTTPServerResponse) -> (status: UInt32, response: OpaquePointer)? {
    var body = response.body
    guard let encoded = MHD_create_response_from_buffer(body.count, &body, .RESPMEM_MUST_COPY) else { return nil }
    for (name, value) in response.headers.fields where MHD_add_response_header(encoded, name, value) != .YES {
      MHD_destroy_response(encoded)
      return encode(HTTPServerResponse(status: 500, text: "The answer has an invalid header.\n"))
    }
    guard (200...599).contains(response.status) else {
      MHD_destroy_response(encoded)
      return encode(HTTPServerResponse(status: 500, text: "The answer has an invalid status.\n"))
    }
    return (UInt32(response.status), encoded)
  }
}

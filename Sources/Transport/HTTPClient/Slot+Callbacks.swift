import CCurl
import Curl
import Dispatch
import Glibc

extension Slot {
  static func from(_ context: UnsafeMutableRawPointer?) -> Slot {
    Unmanaged<Slot>.fromOpaque(context!).takeUnretainedValue()
  }

  func onSocket(_ address: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
    guard let address else { return -1 }
    guard configuration.allowsAddress(submission?.request.authority ?? "", PeerAddress.bytes(of: address)) else {
      isAddressRefused = true
      return -1
    }
    let socket = connections.open(address)
    sockets.append(socket)
    return socket
  }

  /// The TCP connection is there and the TLS handshake begins. The only sign that libcurl gives of it.
  func onHandshake() -> CURLcode {
    hasBegunTLS = true
    return CURLE_OK
  }

  /// A connection is there and the request is about to be written.
  ///
  /// libcurl calls it again if a pooled connection died before the answer began: it would then repeat the request, even
  /// a POST (`Curl_retry_request`). For an SMS that would mean two, so the repetition is stopped here.
  func onRequest() -> Int32 {
    guard let request = submission?.request else { return CURL_PREREQFUNC_ABORT }
    attempts += 1
    connections.isConnected(sockets: sockets, isFirst: attempts == 1)
    if attempts > 1 && !request.isIdempotent && mayHaveLeft {
      isResendPrevented = true
      return CURL_PREREQFUNC_ABORT
    }
    if let limit = request.timeouts.firstByte {
      firstByteDeadline = DispatchTime.now().uptimeNanoseconds + limit.nanoseconds
    }
    return CURL_PREREQFUNC_OK
  }

  /// One line of the header, the status line and the empty line included. Fewer bytes than `count` end the transfer.
  func onHeader(_ line: UnsafePointer<CChar>?, _ count: Int) -> Int {
    hasFirstByte = true
    let bytes = UnsafeRawBufferPointer(start: line, count: count)
    // A status line: what came before was an interim answer (1xx).
    if bytes.starts(with: "HTTP/".utf8) {
      headerLines.removeAll(keepingCapacity: true)
      return count
    }
    guard headerLines.count + count <= Self.maxHeaderBytes else {
      isTooLarge = true
      return 0
    }
    headerLines.append(contentsOf: bytes)
    return count
  }

  /// Fewer bytes than `count` end the transfer.
  func onBody(_ data: UnsafePointer<CChar>?, _ count: Int) -> Int {
    guard let limit = submission?.request.maxResponseBytes, body.count + count <= limit else {
      isTooLarge = true
      return 0
    }
    body.append(contentsOf: UnsafeRawBufferPointer(start: data, count: count))
    return count
  }
}

/// Address that libcurl is about to connect to.
enum PeerAddress {
  /// 4 or 16 bytes in the order of the network. None of another family, which no rule allows by mistake.
  static func bytes(of address: UnsafeMutablePointer<curl_sockaddr>) -> [UInt8] {
    withUnsafePointer(to: &address.pointee.addr) { pointer in
      let raw = UnsafeRawPointer(pointer)
      switch address.pointee.family {
      case AF_INET: return Array(UnsafeRawBufferPointer(start: raw + ipv4Offset, count: 4))
      case AF_INET6: return Array(UnsafeRawBufferPointer(start: raw + ipv6Offset, count: 16))
      default: return []
      }
    }
  }

  private static let ipv4Offset = MemoryLayout<sockaddr_in>.offset(of: \.sin_addr) ?? 0
  private static let ipv6Offset = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 0
}

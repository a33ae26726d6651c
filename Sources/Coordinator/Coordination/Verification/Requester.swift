import CountersignCryptography

/// Identifies a requester by keyed hashes under the pepper, never by their input.
struct Requester: Sendable, Hashable {
  /// Hash under the current pepper; the stored one. Empty for an unnamed requester.
  var hash: [UInt8]
  /// Hash under the previous pepper; it recognizes requesters from before the change.
  var formerHash: [UInt8]?

  /// All requesters without any identification: one requester for each app.
  static let nobody = Requester(hash: [])

  /// Value for a row; `nil` for an unnamed requester.
  var stored: [UInt8]? { hash.isEmpty ? nil : hash }

  /// - Parameter stored: a hash of a row.
  func isSame(as stored: [UInt8]) -> Bool {
    stored == hash || formerHash.map { $0 == stored } ?? false
  }
}

/// A start's requester, as far as the command identifies it.
struct RequesterClaim: Sendable, Hashable {
  /// The requester that its service names.
  var named: Requester?
  /// The network of its client, together with the client's instance.
  var client: Requester?

  /// The requester that the service names, else the device of the proof, else the client, else an unnamed one.
  /// - Parameter device: the device of a valid proof, if any.
  func requester(device: TokenHash?) -> Requester {
    named ?? device.map { Requester(hash: $0.current, formerHash: $0.earlier) } ?? client ?? .nobody
  }

  /// Bytes for a fingerprint.
  /// - Parameter isFormer: whether to use the previous pepper.
  func text(isFormer: Bool) -> [UInt8] {
    let requester = named ?? client ?? .nobody
    return isFormer ? requester.formerHash ?? requester.hash : requester.hash
  }
}

extension KeyedHashes {
  /// Hash of a requester that its service names.
  func requester(named name: String, app: String) -> Requester {
    requester("countersign requester", [Array(app.utf8), Array(name.utf8)])
  }

  /// Hash of a client, by its network and the instance that distinguishes clients within it.
  func requester(at address: ClientAddress, instance: String?, app: String) -> Requester {
    requester("countersign client", [Array(app.utf8), Array(address.network.utf8), Array((instance ?? "").utf8)])
  }

  private func requester(_ label: StaticString, _ parts: [[UInt8]]) -> Requester {
    let bytes = VerificationCodes.framed(label, parts)
    return Requester(
      hash: current.key.authenticate(bytes), formerHash: previous.map { $0.key.authenticate(bytes) })
  }
}

/// Stands for who asks: keyed hashes under the pepper, never what they were made from.
struct Requester: Sendable, Hashable {
  /// Under the pepper in force; what is stored. Empty for nobody in particular.
  var hash: [UInt8]
  /// Under the pepper of before, by which requesters of before its change are known.
  var formerHash: [UInt8]?

  /// All that say nothing of themselves: one requester for each app.
  static let nobody = Requester(hash: [])

  /// For a row; `nil` for nobody in particular.
  var stored: [UInt8]? { hash.isEmpty ? nil : hash }

  /// - Parameter stored: a hash of a row.
  func isSame(as stored: [UInt8]) -> Bool {
    stored == hash || formerHash.map { $0 == stored } ?? false
  }
}

/// Requester of a start, as far as the command tells.
struct RequesterClaim: Sendable, Hashable {
  /// As its service names them.
  var named: Requester?
  /// The network of its client, together with the client's instance.
  var client: Requester?

  /// Requester: whom the service names, else the device of the proof, else the client, else nobody in particular.
  /// - Parameter device: that of the proof, if there is a proof that holds.
  func requester(device: TokenHash?) -> Requester {
    named ?? device.map { Requester(hash: $0.current, formerHash: $0.earlier) } ?? client ?? .nobody
  }

  /// For a fingerprint.
  /// - Parameter isFormer: whether it is that under the pepper of before.
  func text(isFormer: Bool) -> [UInt8] {
    let requester = named ?? client ?? .nobody
    return isFormer ? requester.formerHash ?? requester.hash : requester.hash
  }
}

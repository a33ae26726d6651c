import CountersignCryptography

extension ProofKeeper {
  /// Hash of a requester that its service names.
  func requester(named name: String, app: String) -> Requester {
    requester("countersign requester", [Array(app.utf8), Array(name.utf8)])
  }

  /// Hash of a client, by its network and the instance that distinguishes clients within it.
  func requester(at address: ClientAddress, instance: String?, app: String) -> Requester {
    requester("countersign client", [Array(app.utf8), Array(address.network.utf8), Array((instance ?? "").utf8)])
  }

  private func requester(_ label: StaticString, _ parts: [[UInt8]]) -> Requester {
    let bytes = CodeKeeper.framed(label, parts)
    return Requester(
      hash: current.key.authenticate(bytes), formerHash: previous.map { $0.key.authenticate(bytes) })
  }
}

public import CountersignCryptography
public import CountersignMessages
public import CountersignTelemetry

extension SecretField {
  /// Opens a secret of a job, or throws the problem that makes the job a dead letter.
  ///
  /// - Parameters:
  ///   - keys: the keys that may open it; with an empty ring a sealed secret cannot be opened.
  ///   - context: the message that it belongs to.
  ///   - field: its path in the body.
  public func open(
    with keys: KeyRing, for context: SealContext, field: String
  ) throws(ContractProblem) -> Secret {
    do throws(SealError) {
      return try open(with: keys, for: context)
    } catch {
      throw ContractProblem(error, field: field, hasKeys: !keys.opening.isEmpty)
    }
  }
}

extension ContractProblem {
  /// Problem with a sealed field.
  /// - Parameters:
  ///   - field: its path in the body.
  ///   - hasKeys: whether the worker has keys at all.
  public init(_ error: SealError, field: String, hasKeys: Bool) {
    switch error {
    case .notSealed: self.init(.notSealed, field: field, error.description)
    case _ where !hasKeys: self.init(.unknownKey, field: field, "is sealed, and this worker has no keysFile")
    case .unknownKey: self.init(.unknownKey, field: field, error.description)
    case .moved, .broken, .noSealingKey: self.init(.sealMismatch, field: field, error.description)
    }
  }
}

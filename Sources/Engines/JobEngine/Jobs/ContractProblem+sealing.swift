public import CountersignMessages

extension ContractProblem.Code {
  /// A sealed field names a key that this worker does not have.
  public static let unknownKey = Self("UNKNOWN_KEY")
  /// A field is in plaintext, and this worker accepts sealed ones only.
  public static let notSealed = Self("NOT_SEALED")
  /// A sealed field cannot be opened, or belongs to another message.
  public static let sealMismatch = Self("SEAL_MISMATCH")
}

package import PostgreSQL

extension StoreError {
  init(_ error: PostgreSQLError) {
    // Left open: a repetition finds out by the guards.
    self.init(
      error.isCommitUnknown ? .io : Self.code(of: error.code),
      // The description names the kind behind it.
      error.sqlState.map { "\(error.message), SQLSTATE \($0)" } ?? error.message)
  }

  private static func code(of code: PostgreSQLError.Code) -> Code {
    switch code {
    case .content, .constraint: .content
    case .tooLarge: .tooLarge
    case .misuse, .invalidURL: .misuse
    case .statement, .unexpectedResult: .statement
    case .statementTimeout, .lockTimeout: .busy
    case .deadlock, .serialization, .uniqueViolation: .conflict
    case .overloaded: .overloaded
    case .diskFull: .full
    case .readOnly, .permission: .readOnly
    case .missingRelation: .schema
    case .closed: .closed
    default: .unavailable
    }
  }
}

/// Reason that a body on a session ended early.
package enum PostgreSQLFailure: Error {
  case server(PostgreSQLError)
  /// A flow, or a limit of the store.
  case store(StoreError)
  case conflict(StoreConflict)

  /// Competition, also where the server noticed it.
  var conflict: StoreConflict? {
    switch self {
    case .conflict(let conflict): conflict
    case .server(let error): [.deadlock, .serialization, .uniqueViolation].contains(error.code) ? .crossed : nil
    case .store: nil
    }
  }

  var error: StoreError {
    switch self {
    case .server(let error): StoreError(error)
    case .store(let error): error
    case .conflict(let conflict): StoreError(.conflict, conflict.description)
    }
  }
}

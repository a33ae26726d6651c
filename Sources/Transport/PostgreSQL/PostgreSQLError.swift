/// Failure of a database server or of the way to it. Its description is safe to log: hosts, users, names of tables and
/// columns, never values.
public struct PostgreSQLError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a failure. More may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String {
      case invalidURL, unreachable, connectionLost, loginRefused, tlsRefused, readOnly, statementTimeout, lockTimeout
      case deadlock, serialization, uniqueViolation, constraint, diskFull, outOfResources, shuttingDown, permission
      case missingRelation, statement, content, tooLarge, overloaded, closed, unexpectedResult, misuse
    }

    private let kind: Kind

    /// The address is not a URL of PostgreSQL.
    public static let invalidURL = Code(kind: .invalidURL)
    /// No host could be connected to.
    public static let unreachable = Code(kind: .unreachable)
    /// The connection was open and has been lost. Whether a commit happened says ``PostgreSQLError/isCommitUnknown``.
    public static let connectionLost = Code(kind: .connectionLost)
    /// The server does not accept the user, the password, the database or the address of this machine.
    public static let loginRefused = Code(kind: .loginRefused)
    /// The TLS handshake failed, or the certificate is not trusted.
    public static let tlsRefused = Code(kind: .tlsRefused)
    /// The server takes no changes: it is a standby, or was made read-only.
    public static let readOnly = Code(kind: .readOnly)
    /// A statement took longer than its time-out, or an administrator canceled it.
    public static let statementTimeout = Code(kind: .statementTimeout)
    /// Another transaction held a lock for longer than the time-out.
    public static let lockTimeout = Code(kind: .lockTimeout)
    /// Two transactions waited for each other, and the server ended this one.
    public static let deadlock = Code(kind: .deadlock)
    /// Other changes came between: the transaction has to be done again.
    public static let serialization = Code(kind: .serialization)
    /// A UNIQUE, PRIMARY KEY or EXCLUDE constraint refused the row.
    public static let uniqueViolation = Code(kind: .uniqueViolation)
    /// A CHECK, NOT NULL or FOREIGN KEY constraint refused the row.
    public static let constraint = Code(kind: .constraint)
    /// No space is left on the server's disk.
    public static let diskFull = Code(kind: .diskFull)
    /// The server has no memory, no connection or no lock left.
    public static let outOfResources = Code(kind: .outOfResources)
    /// The server is starting, stopping or recovering.
    public static let shuttingDown = Code(kind: .shuttingDown)
    /// The user may not do this.
    public static let permission = Code(kind: .permission)
    /// A table, a column, a function or a schema is missing.
    public static let missingRelation = Code(kind: .missingRelation)
    /// SQL that the server does not take, or an error in it that has no code of its own here.
    public static let statement = Code(kind: .statement)
    /// A value cannot be stored or computed with.
    public static let content = Code(kind: .content)
    /// A value, a statement or a result is larger than the limits.
    public static let tooLarge = Code(kind: .tooLarge)
    /// Too many bodies wait.
    public static let overloaded = Code(kind: .overloaded)
    /// The connection or the pool was closed.
    public static let closed = Code(kind: .closed)
    /// A result lacks a row or a column, or has another type than was asked for.
    public static let unexpectedResult = Code(kind: .unexpectedResult)
    /// A mistake in the program that calls.
    public static let misuse = Code(kind: .misuse)

    public var description: String { kind.rawValue }
  }

  /// The kind of the failure.
  public var code: Code
  /// The failure, and its remedy if an operator can fix it.
  public var message: String
  /// SQLSTATE, when the server reported the failure (appendix A of its documentation).
  public var sqlState: String?
  /// The violated constraint, when the server named one.
  public var constraint: String?
  /// Whether the transaction may have been committed all the same: the answer to COMMIT was lost.
  public var isCommitUnknown = false

  /// An error that a body throws of its own accord, to have its changes rolled back.
  public init(_ code: Code, _ message: String, sqlState: String? = nil) {
    self.code = code
    self.message = message
    self.sqlState = sqlState
  }

  /// Whether the same call may succeed later, nothing but the circumstances having changed. After a commit with an
  /// unknown end the caller has to look first.
  public var isRetriable: Bool {
    switch code {
    case .unreachable, .connectionLost, .readOnly, .statementTimeout, .lockTimeout, .deadlock, .serialization,
      .diskFull, .outOfResources, .shuttingDown, .overloaded:
      true
    default: false
    }
  }

  public var description: String {
    guard let sqlState else { return "\(message) (\(code))" }
    return "\(message) (\(code), SQLSTATE \(sqlState))"
  }
}

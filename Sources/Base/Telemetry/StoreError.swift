/// Failure of a database, of what is stored in it, or of the way to it. Its description is safe to log: paths, hosts,
/// users, names of tables, kinds and keys, never IDs, hashes or values.
public struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a failure. More may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String {
      case content, constraint, uniqueConstraint, tooLarge, taken
      case notLoaded, misuse, invalidURL, statement, unexpectedResult
      case conflict, deadlock, serialization, uniqueViolation
      case busy, rolledBack, statementTimeout, lockTimeout, overloaded
      case full, outOfMemory, outOfResources, io, damaged, notADatabase, readOnly, permission, notPermitted
      case unavailable, cannotOpen, unreachable, connectionLost, loginRefused, tlsRefused, shuttingDown
      case schema, otherKind, newerSchema, migrationFailed, closed
    }

    private let kind: Kind

    /// A value, a row or a record holds what cannot be stored, or what the program cannot read or write.
    public static let content = Code(kind: .content)
    /// A CHECK, NOT NULL or FOREIGN KEY constraint refused the row.
    public static let constraint = Code(kind: .constraint)
    /// A UNIQUE or PRIMARY KEY constraint of SQLite refused the row: there is one writer, so the caller is wrong.
    public static let uniqueConstraint = Code(kind: .uniqueConstraint)
    /// A value, a statement or a result is larger than the limits.
    public static let tooLarge = Code(kind: .tooLarge)
    /// A record claims a unique key that another record of the same working set holds.
    public static let taken = Code(kind: .taken)
    /// A flow looked up what is not loaded yet. Its run is repeated with it.
    public static let notLoaded = Code(kind: .notLoaded)
    /// A mistake in the program that calls.
    public static let misuse = Code(kind: .misuse)
    /// The address is not a URL of PostgreSQL.
    public static let invalidURL = Code(kind: .invalidURL)
    /// SQL that the database does not take, or an error in it that has no code of its own here.
    public static let statement = Code(kind: .statement)
    /// A result lacks a row or a column, or has another type than was asked for.
    public static let unexpectedResult = Code(kind: .unexpectedResult)
    /// Other writers changed the same in every attempt. Thrown by callers of a store.
    public static let conflict = Code(kind: .conflict)
    /// Two transactions waited for each other, and the server ended this one.
    public static let deadlock = Code(kind: .deadlock)
    /// Other changes came between: the transaction has to be done again.
    public static let serialization = Code(kind: .serialization)
    /// A UNIQUE, PRIMARY KEY or EXCLUDE constraint of a server refused the row: another writer may be the reason.
    public static let uniqueViolation = Code(kind: .uniqueViolation)
    /// Other processes held the database for longer than the time-out.
    public static let busy = Code(kind: .busy)
    /// Another body ended the transaction that was shared with it (by `ON CONFLICT ROLLBACK`, for instance).
    public static let rolledBack = Code(kind: .rolledBack)
    /// A statement took longer than its time-out, or an administrator canceled it.
    public static let statementTimeout = Code(kind: .statementTimeout)
    /// Another transaction held a lock for longer than the time-out.
    public static let lockTimeout = Code(kind: .lockTimeout)
    /// Too many bodies wait.
    public static let overloaded = Code(kind: .overloaded)
    /// No space is left.
    public static let full = Code(kind: .full)
    /// SQLite got no memory.
    public static let outOfMemory = Code(kind: .outOfMemory)
    /// The server has no memory, no connection or no lock left.
    public static let outOfResources = Code(kind: .outOfResources)
    /// The operating system could not read or write. After a failed commit it is not known whether it is on the disk.
    public static let io = Code(kind: .io)
    /// The file or a table is damaged.
    public static let damaged = Code(kind: .damaged)
    /// The file is something else.
    public static let notADatabase = Code(kind: .notADatabase)
    /// The database takes no changes: a standby, a read-only file, or a body that only reads.
    public static let readOnly = Code(kind: .readOnly)
    /// The user of the server may not do this.
    public static let permission = Code(kind: .permission)
    /// The file or its directory cannot be written by this user.
    public static let notPermitted = Code(kind: .notPermitted)
    /// The store cannot be used at present.
    public static let unavailable = Code(kind: .unavailable)
    /// The file cannot be opened or created: the message says why.
    public static let cannotOpen = Code(kind: .cannotOpen)
    /// No host could be connected to.
    public static let unreachable = Code(kind: .unreachable)
    /// The connection was open and has been lost. Whether a commit happened says ``StoreError/isCommitUnknown``.
    public static let connectionLost = Code(kind: .connectionLost)
    /// The server does not accept the user, the password, the database or the address of this machine.
    public static let loginRefused = Code(kind: .loginRefused)
    /// The TLS handshake failed, or the certificate is not trusted.
    public static let tlsRefused = Code(kind: .tlsRefused)
    /// The server is starting, stopping or recovering.
    public static let shuttingDown = Code(kind: .shuttingDown)
    /// Tables are missing, or of another version of the program: an operator has to act.
    public static let schema = Code(kind: .schema)
    /// The file belongs to another service or program.
    public static let otherKind = Code(kind: .otherKind)
    /// A newer program has written the file.
    public static let newerSchema = Code(kind: .newerSchema)
    /// A migration failed and was rolled back.
    public static let migrationFailed = Code(kind: .migrationFailed)
    /// The database, the connection or the pool was closed.
    public static let closed = Code(kind: .closed)

    public var description: String { kind.rawValue }
  }

  /// Cause of a failure.
  public enum Fault: Sendable, Hashable {
    /// The content or the affected record: others are not affected.
    case content
    /// Either: whether it meets every message, or one alone, decides.
    case doubtful
    /// The store or its environment: every message is affected, and none must suffer for it.
    case store
  }

  /// The kind of the failure.
  public var code: Code
  /// The failure, and its remedy if an operator can fix it.
  public var message: String
  /// SQLite's extended result code, when SQLite reported the failure (https://www.sqlite.org/rescode.html).
  public var sqliteCode: Int?
  /// SQLSTATE, when a server reported the failure (appendix A of PostgreSQL's documentation).
  public var sqlState: String?
  /// The violated constraint, when the server named one.
  public var constraint: String?
  /// Whether the transaction may have been committed all the same: the answer to COMMIT was lost.
  public var isCommitUnknown = false
  /// The competition that ended a transaction, if that is the reason.
  public var conflict: StoreConflict?

  /// An error that a body may throw of its own accord, to have its changes rolled back.
  public init(_ code: Code, _ message: String, sqliteCode: Int? = nil, sqlState: String? = nil) {
    self.code = code
    self.message = message
    self.sqliteCode = sqliteCode
    self.sqlState = sqlState
  }

  /// Ends a transaction because of competition.
  public init(_ conflict: StoreConflict) {
    self.init(.busy, conflict.description)
    self.conflict = conflict
  }

  /// Cause of the failure: it decides whether a message is given up or waits. A commit with an unknown end is left open:
  /// a repetition finds out.
  public var fault: Fault {
    switch code {
    case _ where isCommitUnknown: .store
    case .content, .constraint, .uniqueConstraint, .tooLarge, .taken: .content
    // SQLite's own may be about the connection, which all messages share.
    case .misuse where sqliteCode == nil: .content
    case .notLoaded, .misuse, .invalidURL, .statement, .unexpectedResult, .conflict, .deadlock, .serialization,
      .uniqueViolation:
      .doubtful
    default: .store
    }
  }

  /// Whether the store takes no writes, of which its health tells: competition and load pass by themselves.
  public var isOutage: Bool {
    fault == .store && ![.busy, .rolledBack, .statementTimeout, .lockTimeout, .overloaded].contains(code)
  }

  /// Whether the same call may succeed later, nothing but the circumstances having changed. After a commit with an
  /// unknown end the caller has to look first.
  public var isRetriable: Bool {
    switch code {
    case .conflict, .deadlock, .serialization, .busy, .rolledBack, .statementTimeout, .lockTimeout, .overloaded, .full,
      .outOfMemory, .outOfResources, .io, .readOnly, .unavailable, .unreachable, .connectionLost, .shuttingDown:
      true
    default: false
    }
  }

  public var description: String {
    let origin = sqliteCode.map { ", SQLite \($0)" } ?? sqlState.map { ", SQLSTATE \($0)" } ?? ""
    return "\(message) (\(code)\(origin))"
  }
}

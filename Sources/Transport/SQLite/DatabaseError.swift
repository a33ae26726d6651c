/// Failure of a database. Its description is safe to log: paths, names of tables and columns, never values.
public struct DatabaseError: Error, Sendable, CustomStringConvertible {
  /// The kind of a failure. More may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String {
      case cannotOpen, notPermitted, notADatabase, otherKind, newerSchema, migrationFailed, corrupt, diskFull, io, busy
      case overloaded, closed, rolledBack, constraint, uniqueConstraint, readOnly, tooBig, outOfMemory, misuse, sql
      case content
    }

    private let kind: Kind

    /// The file cannot be opened or created: the message says why.
    public static let cannotOpen = Code(kind: .cannotOpen)
    /// The file or its directory cannot be written by this user.
    public static let notPermitted = Code(kind: .notPermitted)
    /// The file is something else.
    public static let notADatabase = Code(kind: .notADatabase)
    /// The file belongs to another service or program.
    public static let otherKind = Code(kind: .otherKind)
    /// A newer program has written the file.
    public static let newerSchema = Code(kind: .newerSchema)
    /// A migration failed and was rolled back.
    public static let migrationFailed = Code(kind: .migrationFailed)
    /// The file is damaged.
    public static let corrupt = Code(kind: .corrupt)
    /// No space is left.
    public static let diskFull = Code(kind: .diskFull)
    /// The operating system could not read or write. After a failed commit it is not known whether it is on the disk.
    public static let io = Code(kind: .io)
    /// Other processes held the file for longer than the time-out.
    public static let busy = Code(kind: .busy)
    /// Too many bodies wait.
    public static let overloaded = Code(kind: .overloaded)
    /// The database was closed.
    public static let closed = Code(kind: .closed)
    /// Another body ended the transaction that was shared with it (by `ON CONFLICT ROLLBACK`, for instance).
    public static let rolledBack = Code(kind: .rolledBack)
    /// A CHECK, NOT NULL or FOREIGN KEY constraint refused the row.
    public static let constraint = Code(kind: .constraint)
    /// A UNIQUE or PRIMARY KEY constraint refused the row.
    public static let uniqueConstraint = Code(kind: .uniqueConstraint)
    /// A body of `read` tried to write.
    public static let readOnly = Code(kind: .readOnly)
    /// A text or blob is larger than SQLite takes.
    public static let tooBig = Code(kind: .tooBig)
    /// SQLite got no memory.
    public static let outOfMemory = Code(kind: .outOfMemory)
    /// A mistake in the program that calls.
    public static let misuse = Code(kind: .misuse)
    /// SQL that SQLite does not take.
    public static let sql = Code(kind: .sql)
    /// A row or a value holds what the program that calls cannot read or write. Thrown by its bodies only: the fault
    /// lies in what they deal with, and the file is sound.
    public static let content = Code(kind: .content)

    public var description: String { kind.rawValue }
  }

  /// The kind of the failure.
  public var code: Code
  /// The failure, and its remedy if an operator can fix it.
  public var message: String
  /// SQLite's extended result code, when SQLite reported the failure (https://www.sqlite.org/rescode.html).
  public var sqliteCode: Int?

  /// An error that a body throws of its own accord, to have its changes rolled back.
  public init(_ code: Code, _ message: String, sqliteCode: Int? = nil) {
    self.code = code
    self.message = message
    self.sqliteCode = sqliteCode
  }

  /// Whether the same call may succeed later, nothing but the circumstances having changed.
  public var isRetriable: Bool {
    switch code {
    case .busy, .overloaded, .rolledBack, .diskFull, .io, .outOfMemory: true
    default: false
    }
  }

  public var description: String {
    guard let sqliteCode else { return "\(message) (\(code))" }
    return "\(message) (\(code), SQLite \(sqliteCode))"
  }
}

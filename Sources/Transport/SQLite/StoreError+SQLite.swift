import CSQLite
import CountersignTelemetry

extension StoreError {
  static func last(of handle: OpaquePointer?, path: String) -> StoreError {
    guard let handle else { return StoreError(.outOfMemory, "no memory for a connection to \(path)") }
    let text = sqlite3_errmsg(handle).map { String(cString: $0) } ?? "unknown error"
    return StoreError(sqlite: sqlite3_extended_errcode(handle), text: text, path: path)
  }

  /// A result code with SQLite's own text, which names tables and columns but no values.
  init(sqlite extended: Int32, text: String, path: String) {
    let code = Self.code(of: extended)
    self.init(code, Self.message(for: code, text: text, path: path), sqliteCode: Int(extended))
  }

  private static func code(of extended: Int32) -> Code {
    switch extended {
    // SQLITE_CONSTRAINT_UNIQUE, _PRIMARYKEY and _ROWID: macros with arithmetic, which Swift does not import.
    case SQLITE_CONSTRAINT | (8 << 8), SQLITE_CONSTRAINT | (6 << 8), SQLITE_CONSTRAINT | (10 << 8):
      return .uniqueConstraint
    default: break
    }
    switch extended & 0xFF {
    case SQLITE_BUSY, SQLITE_LOCKED: return .busy
    case SQLITE_CANTOPEN: return .cannotOpen
    case SQLITE_PERM, SQLITE_AUTH: return .notPermitted
    case SQLITE_READONLY: return .readOnly
    case SQLITE_NOTADB: return .notADatabase
    case SQLITE_CORRUPT: return .damaged
    case SQLITE_FULL: return .full
    case SQLITE_IOERR, SQLITE_PROTOCOL: return .io
    case SQLITE_CONSTRAINT: return .constraint
    case SQLITE_TOOBIG: return .tooLarge
    case SQLITE_NOMEM: return .outOfMemory
    case SQLITE_MISUSE, SQLITE_RANGE: return .misuse
    default: return .statement
    }
  }

  private static func message(for code: Code, text: String, path: String) -> String {
    switch code {
    case .busy:
      "\(path) is held by another process: see with `fuser \(path)` which one hangs"
    case .cannotOpen:
      "cannot open \(path) (\(text)): its directory must exist and be writable for this user, and file handles be left"
    case .notPermitted:
      "no permission for \(path): it and its directory must be writable for this user"
    case .notADatabase:
      "\(path) is not an SQLite database: name another file, or move this one away"
    case .damaged:
      "\(path) is damaged (\(text)): stop what uses it, then restore it, or move it away together with its -wal and -shm files"
    case .full:
      "no space is left for \(path): free some on its file system"
    case .io:
      "cannot read or write \(path) (\(text)): look at the kernel's log and the state of its disk"
    case .outOfMemory:
      "no memory for \(path)"
    default:
      text
    }
  }
}

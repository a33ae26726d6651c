import CPostgreSQL
import CountersignTelemetry

/// Fields of an error (PG_DIAG_… in postgres_ext.h: characters, which Swift does not import).
private enum ErrorField: Unicode.Scalar {
  case sqlState = "C"
  case severity = "V"
  case message = "M"
  case constraint = "n"
  case table = "t"
}

extension StoreError {
  private static let maxMessageBytes = 300
  private static let maxStatementBytes = 80

  init(result: OpaquePointer, sql: String) {
    let state = Self.field(result, .sqlState) ?? ""
    let severity = Self.field(result, .severity)
    guard severity != "FATAL", severity != "PANIC", !state.isEmpty else {
      self.init(.connectionLost, Self.lossMessage(state), sqlState: state.isEmpty ? nil : state)
      return
    }
    let constraint = Self.field(result, .constraint).map(Self.clean)
    let table = Self.field(result, .table).map(Self.clean)
    let code = Self.code(ofStatement: state)
    let text = Self.message(code, state, text: Self.field(result, .message) ?? "", constraint, table)
    self.init(code, "\(text), in: \(Self.clean(sql, maxBytes: Self.maxStatementBytes))", sqlState: state)
    self.constraint = constraint
  }

  private static func code(ofStatement state: String) -> Code {
    switch state {
    case "57014": return .statementTimeout
    case "55P03": return .lockTimeout
    case "40P01": return .deadlock
    case "40001", "40002", "40003", "40000": return .serialization
    case "23505", "23P01": return .uniqueViolation
    case "25006": return .readOnly
    case "53100": return .full
    case "42501": return .permission
    case "42P01", "42703", "42883", "3F000", "42704": return .schema
    case "54000", "54001", "54011", "54023": return .tooLarge
    default: break
    }
    switch state.prefix(2) {
    case "22": return .content
    case "23", "44": return .constraint
    case "53": return .outOfResources
    // Errors of the server's files.
    case "58": return .outOfResources
    case "57": return .shuttingDown
    case "28": return .permission
    default: return .statement
    }
  }

  /// Only messages of classes that name objects and never values are repeated.
  private static func message(
    _ code: Code, _ state: String, text: String, _ constraint: String?, _ table: String?
  ) -> String {
    switch code {
    case .content: return "the server cannot read or store a value"
    case .uniqueViolation, .constraint:
      return "the constraint \(constraint ?? "of a column")\(table.map { " of \($0)" } ?? "") refuses a row"
    case .statementTimeout: return "a statement took longer than statement_timeout, or was canceled on the server"
    case .lockTimeout: return "another transaction held a lock for longer than lock_timeout"
    case .deadlock: return "the server ended a deadlock"
    case .serialization: return "the transaction met changes of another one"
    case .full: return "no space is left on the disk of the server: free some there"
    case .readOnly: return "the server takes no changes: it is a standby or was made read-only"
    default: break
    }
    let quotable = ["08", "0A", "25", "26", "28", "3D", "3F", "42", "53", "54", "55", "57", "58"]
    return quotable.contains(String(state.prefix(2))) ? clean(text) : "the server reports an error"
  }

  private static func lossMessage(_ state: String) -> String {
    switch state {
    case "57P01", "57P02": "the server ended the connection: it stops, or an administrator ended it"
    case "57P05", "25P03": "the server ended the connection: it was idle for too long"
    case "": "the connection was lost"
    default: "the server ended the connection"
    }
  }

  // MARK: Connecting

  /// Failure of an attempt to connect. libpq was told to give nothing but the SQLSTATE of the server's errors, as the
  /// last word.
  static func connecting(_ text: String, phase: ConnStatusType, to address: ServerAddress) -> StoreError {
    if let state = sqlState(in: text) { return refusal(state, by: address) }
    let reason = reason(in: text)
    switch phase {
    case CONNECTION_SSL_STARTUP:
      return StoreError(.tlsRefused, "\(address) does not prove itself by TLS: \(reason)")
    case CONNECTION_AWAITING_RESPONSE,
      CONNECTION_AUTH_OK where !text.contains("server closed the connection"):
      return StoreError(.loginRefused, "\(address) refuses the login: \(reason)")
    default:
      return StoreError(.unreachable, "\(address) cannot be reached: \(reason)")
    }
  }

  /// The first line behind the address: libpq asks in a second one whether the server is running.
  private static func reason(in text: String) -> String {
    let reason = text.split(separator: "failed: ", maxSplits: 1).last ?? ""
    return clean(reason.split(whereSeparator: \.isNewline).first.map(String.init) ?? "the reason is not known")
  }

  private static func refusal(_ state: String, by address: ServerAddress) -> StoreError {
    let (code, reason): (Code, String) =
      switch state {
      case "28P01": (.loginRefused, "the password is wrong, or the user is unknown")
      case "28000": (.loginRefused, "pg_hba.conf has no line for this user, address and kind of connection")
      case "3D000": (.loginRefused, "the database does not exist")
      case "42501": (.permission, "the user may not connect to the database")
      case "53300": (.outOfResources, "it has no connection left: raise max_connections, or use fewer")
      case "57P03", "57P01", "57P02": (.shuttingDown, "it is starting, stopping or recovering")
      default: state.hasPrefix("53") ? (.outOfResources, "it is short of resources") : (.loginRefused, "it refuses")
      }
    return StoreError(code, "\(address): \(reason)", sqlState: state)
  }

  private static func sqlState(in text: String) -> String? {
    guard let word = text.split(whereSeparator: \.isWhitespace).last, word.utf8.count == 5,
      word.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }),
      text.contains("failed: ")
    else { return nil }
    return String(word)
  }

  // MARK: Text

  private static func field(_ result: OpaquePointer, _ field: ErrorField) -> String? {
    PQresultErrorField(result, Int32(field.rawValue.value)).map { String(cString: $0) }
  }

  private static func clean(_ text: String) -> String { clean(text, maxBytes: maxMessageBytes) }

  private static func clean(_ text: String, maxBytes: Int) -> String {
    let words = text.unicodeScalars.split { $0.properties.isWhitespace || $0.properties.generalCategory == .control }
    let line = words.map { String(String.UnicodeScalarView($0)) }.joined(separator: " ")
    guard line.utf8.count > maxBytes else { return line }
    return String(decoding: line.utf8.prefix(maxBytes), as: UTF8.self) + "…"
  }
}

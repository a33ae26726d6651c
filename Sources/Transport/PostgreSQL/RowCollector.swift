import CPostgreSQL
import CountersignTelemetry

/// Takes the rows of one statement's result out of libpq, up to a limit.
struct RowCollector {
  private let maxRows: Int
  private let maxValueBytes: Int
  private let maxBytes: Int
  private var types: [ServerType]?
  private var bytes: [UInt8] = []
  private var cells: [RowStorage.Cell] = []
  private var rowCount = 0
  /// Limit that the result exceeds. Its rows are no longer kept.
  private(set) var excess: StoreError?

  init(maxRows: Int, maxValueBytes: Int, maxBytes: Int) {
    self.maxRows = maxRows
    self.maxValueBytes = maxValueBytes
    self.maxBytes = maxBytes
  }

  var size: Int { bytes.count + cells.count * MemoryLayout<RowStorage.Cell>.stride }

  mutating func add(_ result: OpaquePointer) {
    let columns = PQnfields(result)
    if types == nil { types = (0..<columns).map { ServerType(number: PQftype(result, $0)) } }
    for row in 0..<PQntuples(result) where excess == nil { add(row, columns, of: result) }
  }

  private mutating func add(_ row: Int32, _ columns: Int32, of result: OpaquePointer) {
    rowCount += 1
    guard rowCount <= maxRows else { return exceed("a result has more than \(maxRows) rows") }
    for column in 0..<columns {
      guard PQgetisnull(result, row, column) == 0, let value = PQgetvalue(result, row, column) else {
        cells.append(RowStorage.Cell(offset: 0, length: -1))
        continue
      }
      let length = Int(PQgetlength(result, row, column))
      guard length <= maxValueBytes else { return exceed("a value of a result is larger than \(maxValueBytes) bytes") }
      guard size + length <= maxBytes else { return exceed("the results of a run are larger than the limit") }
      cells.append(RowStorage.Cell(offset: Int32(bytes.count), length: Int32(length)))
      bytes.append(contentsOf: UnsafeRawBufferPointer(start: value, count: length))
    }
  }

  private mutating func exceed(_ message: String) {
    excess = StoreError(.tooLarge, message)
    bytes = []
    cells = []
    rowCount = 0
  }

  /// The whole result, `last` being its last part.
  func rows(_ last: OpaquePointer) -> PostgreSQLRows {
    let affected = PQcmdTuples(last).flatMap { Int(String(cString: $0)) } ?? 0
    return PostgreSQLRows(
      storage: RowStorage(types: types ?? [], bytes: bytes, cells: cells, rowCount: rowCount, affected: affected))
  }
}

final class RowStorage: Sendable {
  /// A negative length stands for NULL.
  struct Cell {
    let offset: Int32
    let length: Int32
  }

  let types: [ServerType]
  let bytes: [UInt8]
  let rowCount: Int
  let affected: Int
  private let cells: [Cell]

  init(types: [ServerType], bytes: [UInt8], cells: [Cell], rowCount: Int, affected: Int) {
    self.types = types
    self.bytes = bytes
    self.cells = cells
    self.rowCount = rowCount
    self.affected = affected
  }

  func cell(row: Int, column: Int) -> Range<Int>? {
    let cell = cells[row * types.count + column]
    guard cell.length >= 0 else { return nil }
    return Int(cell.offset)..<Int(cell.offset + cell.length)
  }
}

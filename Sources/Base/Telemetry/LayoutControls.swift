extension Unicode.Scalar {
  /// Whether it changes how the text around it is shown, and is not shown itself: C0, DEL and C1. Line and paragraph
  /// separator; embeddings, overrides and isolates of the writing direction.
  public var isLayoutControl: Bool {
    switch value {
    case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}

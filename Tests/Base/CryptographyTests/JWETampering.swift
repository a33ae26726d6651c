import CountersignCryptography
import Testing

func expectTamperingIsNoticed(_ compact: String, _ openingCode: (String) -> JOSEError.Code?) {
  let sealed = Array(compact.utf8)
  for index in sealed.indices {
    for replacement in [UInt8(ascii: "A"), UInt8(ascii: "B"), UInt8(ascii: "."), UInt8(ascii: "=")]
    where sealed[index] != replacement {
      var changed = sealed
      changed[index] = replacement
      #expect(openingCode(String(decoding: changed, as: UTF8.self)) != nil, "at \(index)")
    }
    var shorter = sealed
    shorter.remove(at: index)
    #expect(openingCode(String(decoding: shorter, as: UTF8.self)) != nil, "without \(index)")
  }
}

func expectPartsAreBound(_ one: String, _ other: String, _ openingCode: (String) -> JOSEError.Code?) {
  let (one, other) = (
    one.split(separator: ".", omittingEmptySubsequences: false),
    other.split(separator: ".", omittingEmptySubsequences: false)
  )
  for index in [0, 2, 3, 4] {
    var mixed = one
    mixed[index] = other[index]
    #expect(openingCode(mixed.joined(separator: ".")) == .authenticationFailed, "part \(index)")
  }
}

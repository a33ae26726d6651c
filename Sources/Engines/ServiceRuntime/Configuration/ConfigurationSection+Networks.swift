package import CountersignEncoding

extension ConfigurationSection {
  /// Reads a list of networks. Problems are reported.
  package func networks(_ key: String, _ help: String) -> [AddressRange] {
    strings(key, help).enumerated().compactMap { index, text in
      let range = AddressRange(text)
      if range == nil {
        problem("\(key).\(index)", "must be an address or a range: 10.0.0.7, 10.0.0.0/24, fd00::/8")
      }
      return range
    }
  }
}

public import CountersignAMQP

extension Consumer: JobSource {}

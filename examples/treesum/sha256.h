// SHA-256 by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include <openssl/evp.h>

namespace treesum {

using Digest = std::array<unsigned char, 32>;

// One computation at a time, many in a row: the context is set up once and reused.
class Sha256 {
 public:
  // Throws std::runtime_error if OpenSSL has no SHA-256.
  Sha256();

  // Each throws std::runtime_error if OpenSSL fails.
  void Start();
  void Update(const void* data, std::size_t size);
  [[nodiscard]] Digest Finish();

 private:
  struct FreeContext {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  struct FreeAlgorithm {
    void operator()(EVP_MD* algorithm) const { EVP_MD_free(algorithm); }
  };
  std::unique_ptr<EVP_MD, FreeAlgorithm> algorithm_;
  std::unique_ptr<EVP_MD_CTX, FreeContext> context_;
};

}  // namespace treesum

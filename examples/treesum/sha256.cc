#include "sha256.h"

#include <stdexcept>

namespace treesum {
namespace {

void Check(bool success) {
  if (!success) throw std::runtime_error("OpenSSL cannot compute SHA-256");
}

}  // namespace

// Fetching the algorithm by name is slow; a context that has been started with it before is not.
Sha256::Sha256()
    : algorithm_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
  Check(algorithm_ != nullptr && context_ != nullptr);
}

void Sha256::Start() { Check(EVP_DigestInit_ex2(context_.get(), algorithm_.get(), nullptr) == 1); }

void Sha256::Update(const void* data, std::size_t size) {
  Check(EVP_DigestUpdate(context_.get(), data, size) == 1);
}

Digest Sha256::Finish() {
  Digest digest;
  Check(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
  return digest;
}

}  // namespace treesum

// SPDX-License-Identifier: Apache-2.0
#include "session/caught.h"

#include <filesystem>
#include <new>
#include <string>
#include <system_error>

namespace npuprof {

Result FromException(std::exception_ptr exception) {
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const std::bad_alloc&) {
    return {code::kFailure, "memory ran out", "EK0201"};
  } catch (const std::filesystem::filesystem_error& error) {
    return Result::Fail(code::kFailure, std::string("an internal error occurred: ") + error.what());
  } catch (const std::system_error& error) {
    // By this number, and nothing else here does so.
    if (error.code() == std::errc::resource_unavailable_try_again)
      return {code::kFailure, "a thread could not be started: " + error.code().message(), "EK0203"};
    return Result::Fail(code::kFailure, std::string("an internal error occurred: ") + error.what());
  } catch (const std::exception& error) {
    return Result::Fail(code::kFailure, std::string("an internal error occurred: ") + error.what());
  } catch (...) {
    return Result::Fail(code::kFailure, "an internal error occurred");
  }
}

}  // namespace npuprof

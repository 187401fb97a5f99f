// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "drain/disk_thread.h"

/// The drain moves records from rings into files: one thread per process, and one that waits for the disk, alive only
/// while something is collected.
///
///     auto collection = Drain::Process().Open(Options::FromEnvironment(&warnings), on_message);
///     trace::RecordFile file(*collection, {...});          // output, see trace/record_file.h
///     collection->Add(std::make_shared<MySource>(file));   // input, polled from now on
///     ...
///     collection->Finish(std::chrono::seconds(5));         // everything in the files, files closed
///
/// Records are copied once, from the ring into a staging block; at that moment the ring's tail may move.
/// Staging memory is bounded: while none is left a source finds that nothing is accepted, leaves its records
/// where they are, and the ring counts what it then cannot keep.
namespace npuprof::drain {

class StagedFile;
class Storage;
class Writer;
class CollectionState;

/// How bytes reach the disk.
enum class Path {
  kUring,    ///< page cache, through io_uring
  kDirect,   ///< O_DIRECT, slices of preset size; through io_uring where allowed, else pwritev
  kPwritev,  ///< page cache, through pwritev on the thread that waits for the disk
};
/// "uring", "direct" or "pwritev".
const char* PathName(Path path);

enum class Severity { kInfo, kWarning, kError };

/// Something worth telling a person. Called on the drain thread, each cause once per collection; must not
/// block and must not call back into the drain.
using MessageHandler = std::function<void(Severity, const std::string& text)>;

struct Options {
  enum class Choice { kAuto, kUring, kDirect, kPwritev };

  Choice path = Choice::kAuto;
  /// Upper bound of staging memory, 1 MiB to 4 GiB. Used pages only; most of it is never touched.
  size_t staging_bytes = size_t{64} << 20;
  /// Staged records reach the file at the latest after this time.
  std::chrono::milliseconds flush_interval{200};
  /// Wraps the writer that was chosen; for tests that inject faults.
  std::function<std::unique_ptr<Writer>(std::unique_ptr<Writer>)> wrap_writer;
  /// Called on the thread that waits for the disk before it opens, finishes, removes or replaces something; for tests that
  /// hold such calls up, or give the errno with which one is to fail.
  std::function<int(FileCall)> before_file_call;

  /// NPUPROF_DRAIN (auto|uring|direct|pwritev) and NPUPROF_STAGING_MB (1 to 4096). A value that is not
  /// allowed is replaced by the default, and a sentence saying so is appended to @p warnings.
  static Options FromEnvironment(std::vector<std::string>* warnings);
};

/// One visit of the drain thread to a source.
struct Pass {
  std::chrono::steady_clock::time_point now;
  /// The collection is finishing: yield everything, including what would normally wait for its period. Called
  /// until the source reports neither more nor blocked.
  bool final = false;
};

/// What a source found.
struct Progress {
  /// Records are left that could be moved at once (a source bounds the work of one visit).
  bool more = false;
  /// Records are left because no staging memory was free. Left alone until a write completes.
  bool blocked = false;
  /// Fill level of the source's fullest ring before this visit, in percent; above 50 it is visited more
  /// often.
  unsigned pressure = 0;
};

/// Where records come from: device rings, the rings of host threads, samplers, writers of text or of the
/// manifest. Every method is called on the drain thread only, never twice at a time, and must not throw.
class Source {
 public:
  virtual ~Source() = default;

  /// Moves what is ready into output files. Should return within a few milliseconds.
  virtual Progress Poll(const Pass& pass) = 0;

  /// Longest time between two visits, 1 ms or more. Samplers return their period: visits then happen on
  /// its multiples (missed ones are skipped). Read once when the source is added.
  virtual std::chrono::nanoseconds Interval() const { return std::chrono::milliseconds(100); }
  /// True if Interval() is a period to keep: the source is then not visited in between, and pressure
  /// elsewhere does not matter to it.
  virtual bool Periodic() const { return false; }

  /// A descriptor that becomes readable when the source wants a visit, or -1. Read once when added; must stay
  /// open until the collection is finished or the source removed.
  virtual int WakeFd() const { return -1; }
  /// Clears WakeFd() before the visit. The default reads eight bytes, as an eventfd wants.
  virtual void ClearWake();
};

/// What draining has cost so far.
struct Cost {
  uint64_t cpu_ns = 0;         ///< CPU time of the drain thread and of the one that waits for the disk
  uint64_t wakeups = 0;        ///< times the thread woke up
  uint64_t bytes_written = 0;  ///< bytes the kernel took
  uint64_t staging_peak_bytes = 0;
  uint64_t bytes_staged = 0;  ///< bytes that were accepted, written or not
  uint64_t starved = 0;       ///< rounds in which records found no staging memory
};

/// One profiling session's share of the drain: its sources and its files. Methods may be called from any thread;
/// those that wait for the drain thread (Remove, Flush, Finish, Run and destruction) not from that thread itself,
/// where they could only wait in vain. In a forked child every method does nothing and says kForked.
class Collection {
 public:
  explicit Collection(std::shared_ptr<CollectionState> state);
  /// Finishes with one second of patience unless Finish() was called.
  ~Collection();
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;

  /// Counts and limits what is below @p root, and keeps a list of finished slices there. Before the first file is
  /// made. @p limit in bytes, 0 for none.
  void KeepWithin(const std::string& root, uint64_t limit);
  /// Null in no case. Its counts: drain thread, or any after Finish().
  const std::shared_ptr<Storage>& storage() const;

  /// Adds a source; its first visit follows at once.
  void Add(std::shared_ptr<Source> source);
  /// Removes a source. When this returns (at the latest after @p patience) the source is not visited again;
  /// kTimeout if the drain thread hung in a write so long that this cannot be promised.
  Status Remove(const std::shared_ptr<Source>& source,
                std::chrono::milliseconds patience = std::chrono::seconds(2));

  /// The same once @p source holds nothing: a visit after this call found neither more nor blocked. Whatever it gave may
  /// still wait for the disk. kTimeout if that was not so within @p patience.
  Status RemoveDry(const std::shared_ptr<Source>& source, std::chrono::milliseconds patience);

  /// Everything that sources hold at this moment is in the files when this returns Ok.
  /// kTimeout if @p patience ran out, kIo if a file failed.
  Status Flush(std::chrono::milliseconds patience);

  /// Visits every source with Pass::final until it is empty, writes all that is staged, closes every file
  /// with its .done, and lets the drain thread end if this was the last collection. A full disk is retried
  /// for at most a second, any other trouble until @p patience ends. On kTimeout or kIo what could not be written is counted as lost in its ledger and
  /// the cause has been given to the message handler. After this the files may be read from any thread.
  Status Finish(std::chrono::milliseconds patience);

  /// Runs @p task on the drain thread between visits and waits for it; to read what only that thread may
  /// touch (file counts, ledgers). kTimeout if it did not run; it then never runs.
  Status Run(const std::function<void()>& task, std::chrono::milliseconds patience);

  /// Has @p call made on the thread that waits for the disk, then @p then on the drain thread, unless the collection was
  /// given up meanwhile: so @p call may refer only to what it owns. Finish() waits for both. On the drain thread.
  void Call(FileCall kind, std::function<void()> call, std::function<void()> then);

  /// After a Finish() that timed out: has @p call made on the thread that waits for the disk, behind all that it is still to do.
  /// kTimeout if it had not ended after @p patience; it is made when the disk answers then, so it may refer only to what it
  /// owns. Made at once where the drain thread has ended.
  Status CallAtEnd(FileCall kind, std::function<void()> call, std::chrono::milliseconds patience);

  // The next three also on the drain thread, from within a visit: the manifest is described there.
  /// How bytes reach the disk, and in a few words why this way.
  Path path() const;
  std::string reason() const;
  /// Cost since this collection was opened (the peak is that of the process).
  Cost cost() const;

  /// For StagedFile.
  const std::shared_ptr<CollectionState>& state() const { return state_; }

 private:
  std::shared_ptr<CollectionState> state_;
  bool finished_ = false;
};

/// The drain thread and what it owns. One per process in production; tests may make more.
class Drain {
 public:
  Drain();
  /// Every collection must have been finished.
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  /// The drain of this process. Never destroyed. In a forked child a new one, without thread or collections.
  static Drain& Process();

  /// Opens a collection and starts the thread ("npuprof-drain", all signals blocked) if it does not run.
  /// @p options take effect when the thread starts; a second collection beside a running one shares its way
  /// to disk. Never fails for want of io_uring: it falls back and says so in Collection::reason().
  /// @return null only if no thread could be made or there is no memory for staging; @p status then says why.
  std::unique_ptr<Collection> Open(const Options& options, MessageHandler on_message, Status* status);

  /// True while the thread runs.
  bool running() const;

 private:
  friend class CollectionState;
  friend class Collection;
  class Impl;
  std::shared_ptr<Impl> impl_;
};

/// Grows by one in every forked child. An object that belongs to threads or files of the parent remembers the
/// value at its creation and stays silent when it differs. Async-signal-safe.
unsigned ForkGeneration();

}  // namespace npuprof::drain

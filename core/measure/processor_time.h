#pragma once

// Processor time, and how much of it threads other than the ranks use. A strategy that starts threads of its own uses
// processors that its row does not count as devices.

#include <cstddef>
#include <vector>

namespace mgcompare {

double process_seconds();  // of all threads of this process, ended ones included
double thread_seconds();   // of the calling thread

// From begin() to end(), which every rank calls on its own thread: begin() right after a rendezvous of the ranks, end() right
// after one and before another. Includes the program's own threads, such as the one that draws the order of samples.
class OtherThreads {
 public:
  explicit OtherThreads(std::size_t ranks) : ranks_(ranks) {}
  void begin(std::size_t rank);
  void end(std::size_t rank);
  // Call both after the rendezvous that follows end().
  double seconds() const;
  double seconds_of_ranks() const;

 private:
  struct Used {
    double begin = 0, end = 0;
  };
  std::vector<Used> ranks_;
  Used process_;                    // written by rank 0
};

}  // namespace mgcompare

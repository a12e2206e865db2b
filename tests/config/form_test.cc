#include <gmock/gmock.h>

#include "config/sample_spec.h"

namespace mgcompare {
namespace {

TEST(SampleForm, HasShapeTypeAndClasses) {
  SampleSpec spec;
  spec.shape = {5, 11, 13};
  spec.element = ElementType::float32;
  spec.classes = 7;
  EXPECT_EQ(form_text(spec), "5 x 11 x 13 float32, 7 classes");
  EXPECT_EQ(time_axis_remark(spec), "");
  spec.shape = {12, 20};
  EXPECT_EQ(form_text(spec), "12 x 20 float32 (time x features), 7 classes");
  EXPECT_EQ(time_axis_remark(spec), "a sample is read as 12 steps of time with 20 features each; if the samples are images, save them with an axis of "
                                    "channels: (samples, 1, 12, 20), with NumPy x[:, None]");
  spec.shape = {20};
  spec.element = ElementType::int64;
  spec.targets = 20;
  EXPECT_EQ(form_text(spec), "20 int64, 7 classes at each of 20 positions");
}

}  // namespace
}  // namespace mgcompare

// The networks in configs/models.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "model/spec.h"

namespace mgcompare::testing {
namespace {

struct Shipped {
  std::string name;
  Shape shape;
  std::size_t classes, parameters, buffers;
};
void PrintTo(const Shipped& shipped, std::ostream* out) { *out << shipped.name; }

NetworkSpec spec_of(const std::string& name, const SampleSpec& samples) {
  const std::string path = ::testing::TempDir() + "/mgcompare-shipped-" + name + "-" + std::to_string(getpid()) + ".yaml";
  std::ofstream(path) << "model: " MGCOMPARE_SOURCE_DIR "/configs/models/" << name << ".yaml\nstrategies: [serial]\n";
  const ModelConfig model = read_config(path).model;
  std::filesystem::remove(path);
  return make_spec(model, samples, false);
}

NetworkSpec spec_of(const std::string& name, const Shape& shape, std::size_t classes) {
  SampleSpec samples;
  samples.shape = shape;
  samples.classes = classes;
  return spec_of(name, samples);
}

class ShippedNetworks : public ::testing::TestWithParam<Shipped> {};

TEST_P(ShippedNetworks, HaveTheirParameters) {
  const auto& [name, shape, classes, parameters, buffers] = GetParam();
  const NetworkSpec spec = spec_of(name, shape, classes);
  EXPECT_EQ(spec.parameters, parameters);
  EXPECT_EQ(spec.buffers, buffers);
}

INSTANTIATE_TEST_SUITE_P(All, ShippedNetworks,
                         ::testing::Values(Shipped{"lenet", {1, 28, 28}, 10, 431'080, 0}, Shipped{"mlp", {1, 28, 28}, 10, 109'386, 0},
                                           Shipped{"keras_cnn", {1, 28, 28}, 10, 600'810, 0},
                                           Shipped{"keras_bn_cnn", {1, 28, 28}, 10, 2'353'738, 512},
                                           Shipped{"vgg19_bn", {3, 32, 32}, 10, 20'040'522, 11'008},
                                           Shipped{"resnet50", {3, 224, 224}, 1000, 25'557'032, 53'120},
                                           Shipped{"tf_cifar10", {3, 32, 32}, 10, 1'756'426, 0},
                                           Shipped{"tf_mnist_tower", {1, 28, 28}, 10, 3'274'634, 0},
                                           Shipped{"music_gru", {49}, 128, 6'042'240, 0}),
                         [](const auto& info) { return info.param.name; });

TEST(ShippedNetwork, CharLstmPredictsACharacterAtEachPosition) {
  SampleSpec samples;
  samples.shape = {64};
  samples.classes = samples.tokens = 65;
  samples.targets = 64;
  const NetworkSpec spec = spec_of("char_lstm", samples);
  EXPECT_EQ(spec.parameters, 3'320'385u);
  EXPECT_EQ(spec.layers.back().output_shape, (Shape{64, 65}));
}

TEST(ShippedNetwork, Resnet50HasTheShapesOfTorchvision) {
  const NetworkSpec spec = spec_of("resnet50", {3, 224, 224}, 1000);
  const auto shape_of = [&](const std::string& name) {
    const auto found = std::find_if(spec.layers.begin(), spec.layers.end(), [&](const LayerSpec& layer) { return layer.config.name == name; });
    return found == spec.layers.end() ? Shape{} : found->output_shape;
  };
  EXPECT_EQ(shape_of("conv1"), (Shape{64, 112, 112}));
  EXPECT_EQ(shape_of("max_pool1"), (Shape{64, 56, 56}));
  EXPECT_EQ(shape_of("stage1.2.relu3"), (Shape{256, 56, 56}));
  EXPECT_EQ(shape_of("stage2.first.1.conv1"), (Shape{128, 56, 56}));
  EXPECT_EQ(shape_of("stage2.first.1.conv2"), (Shape{128, 28, 28}));
  EXPECT_EQ(shape_of("stage2.first.1.shortcut"), (Shape{512, 28, 28}));
  EXPECT_EQ(shape_of("stage4.2.relu3"), (Shape{2048, 7, 7}));
  EXPECT_EQ(shape_of("global_average_pool1"), Shape{2048});
}

TEST(ShippedNetwork, TfCifar10HasTheParametersAndDecayOfTheTutorial) {
  const NetworkSpec spec = spec_of("tf_cifar10", {3, 24, 24}, 10);
  EXPECT_EQ(spec.parameters, 1'068'298u);
  for (const Part& part : spec.parts) {
    if (part.name == "dense1.weight" || part.name == "dense2.weight") { EXPECT_EQ(part.weight_decay, 0.004) << part.name; }
    if (part.layer == "dense3" || part.layer.starts_with("conv")) { EXPECT_EQ(part.weight_decay, std::nullopt) << part.name; }
  }
}

}  // namespace
}  // namespace mgcompare::testing

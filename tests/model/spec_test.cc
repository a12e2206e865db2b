#include "model/spec.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "mgcompare/error.h"
#include "model/optimizer.h"
#include "model/preparation.h"
#include "networks.h"

namespace mgcompare::testing {
namespace {

using ::testing::HasSubstr;

// Samples of ten classes.
SampleSpec bytes_of(const Shape& shape) {
  SampleSpec spec;
  spec.shape = shape;
  spec.classes = 10;
  return spec;
}

NetworkSpec mnist(const ModelConfig& model) { return make_spec(model, bytes_of({1, 28, 28}), false); }

std::string refusal(const ModelConfig& model, const Shape& shape = {1, 28, 28}) {
  try {
    make_spec(model, bytes_of(shape), false);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Spec, CountsTheParametersOfTheExperiments) {
  EXPECT_EQ(mnist(lenet()).parameters, 431'080u);
  EXPECT_EQ(mnist(mlp()).parameters, 109'386u);
  EXPECT_EQ(mnist(keras_cnn()).parameters, 600'810u);
  EXPECT_EQ(mnist(keras_bn_cnn()).parameters, 2'353'738u);
  EXPECT_EQ(mnist(keras_bn_cnn()).buffers, 512u);
}

TEST(Spec, LaysPartsOutInForwardOrderWithoutGaps) {
  const NetworkSpec spec = mnist(keras_bn_cnn());
  std::size_t end = 0;
  for (const Part& part : spec.parts) {
    EXPECT_EQ(part.range.begin, end) << part.name;
    end = part.range.end;
  }
  EXPECT_EQ(end, spec.parameters);
  EXPECT_EQ(spec.parts[0].name, "conv1.weight");
  EXPECT_EQ(spec.parts[0].shape, (Shape{32, 1, 3, 3}));
  EXPECT_EQ(spec.parts[4].name, "batch_norm1.gamma");
  EXPECT_EQ(spec.parts[4].layer, "batch_norm1");
}

TEST(Spec, DecaysWeightsAndBiasesOnlyWhenAsked) {
  for (const Part& part : mnist(keras_bn_cnn()).parts) EXPECT_EQ(part.decays, part.name.ends_with(".weight")) << part.name;
  for (const Part& part : make_spec(lenet(), bytes_of({1, 28, 28}), true).parts) EXPECT_TRUE(part.decays) << part.name;
}

TEST(Spec, AWeightDecayOfALayerIsThatOfItsParts) {
  LayerConfig own = dense(4), none = dense(4);
  own.weight_decay = 0.004;
  none.weight_decay = 0;
  const NetworkSpec spec = mnist({"m", {own, none, dense(10)}});
  OptimizerConfig optimizer;
  optimizer.weight_decay = 1e-4;
  std::vector<double> decays;
  for (const Part& part : spec.parts) decays.push_back(decay_of(part, optimizer));
  EXPECT_EQ(decays, (std::vector<double>{0.004, 0, 0, 0, 1e-4, 0}));
  const NetworkSpec biases = make_spec({"m", {own, none, dense(10)}}, bytes_of({1, 28, 28}), true);
  EXPECT_EQ(decay_of(biases.parts[1], optimizer), 0.004) << "a bias that decays does so as its layer's weights";
}

TEST(Spec, TokensAreThoseOfTheDataUnlessGiven) {
  SampleSpec samples = bytes_of({7});
  const auto spec = [&](std::size_t tokens) {
    LayerConfig table = embedding(4);
    table.tokens = tokens;
    return make_spec({"m", {table, dense(10)}}, samples, false);
  };
  samples.tokens = 30;
  EXPECT_EQ(spec(0).parts[0].shape, (Shape{30, 4}));
  EXPECT_EQ(spec(40).parts[0].shape, (Shape{40, 4}));
  EXPECT_THAT([&] { spec(29); }, ::testing::ThrowsMessage<NetworkError>(HasSubstr("has 29 tokens, but the data has 30")));
  samples.largest = {29, "sample 3 of x.npy"};
  EXPECT_THAT([&] { spec(29); }, ::testing::ThrowsMessage<NetworkError>(HasSubstr("the largest integer is 29, in sample 3 of x.npy")));
  samples.tokens = 50;  // by `data.classes`
  EXPECT_THAT([&] { spec(29); }, ::testing::ThrowsMessage<NetworkError>(::testing::Not(HasSubstr("sample 3"))));
  samples.smallest = {-2, "sample 1 of x.npy"};
  samples.tokens = 0;
  for (const std::size_t tokens : {0, 40})
    EXPECT_THAT([&] { spec(tokens); }, ::testing::ThrowsMessage<NetworkError>(HasSubstr("integers from 0 on, but sample 1 of x.npy has the value -2")));
  samples.smallest = {};
  EXPECT_EQ(spec(40).layers[0].output_shape, (Shape{7, 4}));
  EXPECT_THAT([&] { spec(0); }, ::testing::ThrowsMessage<NetworkError>(HasSubstr("write `tokens: N`")));
  samples.element = ElementType::float32;
  for (const std::size_t tokens : {0, 40})
    EXPECT_THAT([&] { spec(tokens); }, ::testing::ThrowsMessage<NetworkError>(HasSubstr("are integers, and the samples are float32: save them as integers")));
  samples.shape = {7, 2};
  EXPECT_THAT([&] { spec(40); }, ::testing::ThrowsMessage<NetworkError>(HasSubstr("but the samples are 7 x 2")));
  samples = bytes_of({7});
  EXPECT_THAT([&] { make_spec({"m", {dense(5), embedding(4), dense(10)}}, samples, false); },
              ::testing::ThrowsMessage<NetworkError>(HasSubstr("reads the tokens of the sample")));
}

TEST(Spec, BytesAreScaledUnlessTheNetworkReadsTokens) {
  SampleSpec samples = bytes_of({7});
  LayerConfig table = embedding(4);
  table.tokens = 20;
  for (const std::size_t known : {0, 20}) {
    samples.tokens = known;
    EXPECT_EQ(preparation_of({}, as_read(samples, make_spec({"m", {table, dense(10)}}, samples, false))).scale, 1.0F);
    EXPECT_EQ(preparation_of({}, as_read(samples, make_spec({"m", {dense(10)}}, samples, false))).scale, 1.0F / 255);
  }
}

// 7 one-hot columns are read as 2 classes at each of 7 positions.
TEST(Spec, HintsAtOneHotTargets) {
  SampleSpec samples = bytes_of({7});
  samples.classes = 2;
  samples.targets = 7;
  EXPECT_THAT([&] { make_spec({"m", {dense(7)}}, samples, false); }, ::testing::ThrowsMessage<NetworkError>(HasSubstr("y.argmax(axis=1)")));
  EXPECT_THAT([&] { make_spec({"m", {dense(6)}}, samples, false); }, ::testing::ThrowsMessage<NetworkError>(::testing::Not(HasSubstr("argmax"))));
}

TEST(Spec, InfersShapesByTheFloorRule) {
  LayerConfig config = pool("max_pool", 3, 2, 1);
  const NetworkSpec spec = make_spec({"m", {convolution(4, 5), config, dense(10)}}, bytes_of({1, 28, 27}), false);
  EXPECT_EQ(spec.layers[0].output_shape, (Shape{4, 24, 23}));
  EXPECT_EQ(spec.layers[1].output_shape, (Shape{4, 12, 12}));
  EXPECT_EQ(spec.parts[2].shape, (Shape{10, 576}));
}

TEST(Spec, FindsNamedInputs) {
  const NetworkSpec spec = mnist({"m", {named(dense(4), "a"), named(dense(4), "b", {"input"}),
                                        named(layer("concat"), "c", {"a", "b"}), dense(10)}});
  EXPECT_EQ(spec.layers[1].inputs, std::vector<int>{-1});
  EXPECT_EQ(spec.layers[2].inputs, (std::vector<int>{0, 1}));
  EXPECT_EQ(spec.layers[2].output_shape, Shape{8});
}

TEST(Spec, RefusesWhatDoesNotFitInOneSentence) {
  EXPECT_THAT(refusal({"m", {}}), HasSubstr("no layers"));
  EXPECT_THAT(refusal({"m", {dense(9)}}), HasSubstr("the last layer gives 9 but the data has 10 classes"));
  EXPECT_THAT(refusal({"m", {convolution(4, 29), dense(10)}}), HasSubstr("a window of 29 x 29 does not fit into its input, which is 1 x 28 x 28"));
  EXPECT_THAT(refusal({"m", {layer("flatten"), convolution(4, 3), dense(10)}}), HasSubstr("its input is 784"));
  EXPECT_THAT(refusal({"m", {named(dense(10), "a", {"b"})}}), HasSubstr("no layer before it is called 'b'"));
  EXPECT_THAT(refusal({"m", {named(dense(4), "a"), named(dense(10), "a")}}), HasSubstr("another layer has this name"));
  EXPECT_THAT(refusal({"m", {named(dense(10), "input")}}), HasSubstr("the sample itself"));
  EXPECT_THAT(refusal({"m", {layer("add"), dense(10)}}), HasSubstr("two inputs or more"));
  EXPECT_THAT(refusal({"m", {named(dense(4), "a"), named(dense(5), "b", {"input"}), named(layer("add"), "c", {"a", "b"}), dense(10)}}),
              HasSubstr("adds 4 and 5"));
  EXPECT_THAT(refusal({"m", {named(dense(4), "a"), named(dense(10), "b", {"a", "input"})}}), HasSubstr("takes one input"));
  EXPECT_THAT(refusal({"m", {dropout(1), dense(10)}}), HasSubstr("use 0 to below 1"));
  EXPECT_THAT(refusal({"m", {pool("max_pool", 2, 0), dense(10)}}), HasSubstr("at least 1"));
  EXPECT_THAT(refusal({"m", {pool("max_pool", 2, 2, 2), dense(10)}}), HasSubstr("padding must be smaller"));
  EXPECT_THAT(refusal({"m", {per_position(dense(3)), dense(10)}}), HasSubstr("needs time x features for `per_position`, its input is 1 x 28 x 28"));
  EXPECT_THAT(refusal({"m", {layer("flatten"), layer("global_average_pool"), dense(10)}}), HasSubstr("its input is 784"));
  EXPECT_THAT(refusal({"m", {layer("lrn"), dense(10)}}, {4, 3}), HasSubstr("needs channels x height x width, its input is 4 x 3; save images of one channel with an axis of channels, such as x[:, None]"));
  EXPECT_THAT(refusal({"m", {layer("layer_norm"), dense(10)}}, {4, 3, 2, 2}), HasSubstr("at most three axes"));
  EXPECT_THAT([] { layer("rnn"); }, ::testing::ThrowsMessage<Error>(HasSubstr("unknown name 'rnn'")));
  EXPECT_THAT(refusal({"m", {per_position(dense(10))}}, {7, 3}),
              HasSubstr("gives one output at each of 7 positions, 7 x 10, but the data has one target for each sample, one of 10 classes: leave out `per_position`"));
  LayerConfig placed = convolution(0, 3);
  placed.place = {"net.yaml", 7, 5};
  EXPECT_THAT(refusal({"m", {placed}}), HasSubstr("layer 'conv1': channels must be at least 1"));
  try {
    mnist({"m", {placed}});
  } catch (const NetworkError& error) {
    EXPECT_EQ(error.place().file, "net.yaml");
    EXPECT_EQ(error.place().line, 7);
  }
  EXPECT_THROW(dense(10, "magic"), Error);
}

double deviation(const std::vector<float>& weights, const Part& part) {
  double sum = 0, squares = 0;
  for (std::size_t i = part.range.begin; i < part.range.end; ++i) {
    sum += weights[i];
    squares += static_cast<double>(weights[i]) * weights[i];
  }
  const auto count = static_cast<double>(part.range.size());
  return std::sqrt(squares / count - sum / count * sum / count);
}

TEST(InitialWeights, HaveTheDeviationOfTheirInitializer) {
  const NetworkSpec spec = mnist(lenet());
  const std::vector<float> weights = initial_weights(spec, 5);
  EXPECT_NEAR(deviation(weights, spec.parts[2]), std::sqrt(2.0 / 500), 0.001);
  EXPECT_NEAR(deviation(weights, spec.parts[4]), std::sqrt(2.0 / 800), 0.0005);
  EXPECT_EQ(deviation(weights, spec.parts[5]), 0);

  const auto drawn = [](const std::string& kind, double scale) {
    LayerConfig config = dense(10, kind);
    config.weights.scale = scale;
    const NetworkSpec small = mnist({"m", {config}});
    return deviation(initial_weights(small, 5), small.parts[0]);
  };
  EXPECT_NEAR(drawn("glorot_uniform", 0), std::sqrt(2.0 / 794), 0.001);
  EXPECT_NEAR(drawn("he_normal", 0), std::sqrt(2.0 / 784), 0.001);
  EXPECT_NEAR(drawn("normal", 0.3), 0.3, 0.01);
  EXPECT_NEAR(drawn("uniform", 0.3), 0.3 / std::sqrt(3), 0.005);
  EXPECT_EQ(drawn("zeros", 0), 0);
  EXPECT_NEAR(drawn("he_fan_out", 0), std::sqrt(2.0 / 10), 0.01);
  EXPECT_NEAR(drawn("fan_in_uniform", 0), std::sqrt(1.0 / 3 / 784), 0.001);
  const NetworkSpec image = mnist({"m", {convolution(64, 5, "he_fan_out"), dense(10)}});
  EXPECT_NEAR(deviation(initial_weights(image, 5), image.parts[0]), std::sqrt(2.0 / (64 * 25)), 0.002);
}

TEST(InitialWeights, OfLayersWithoutAnAxisOfInputs) {
  SampleSpec samples = bytes_of({7});
  samples.tokens = 200;
  LayerConfig table = embedding(30);
  NetworkSpec spec = make_spec({"m", {table, layer("layer_norm"), dense(10)}}, samples, false);
  EXPECT_NEAR(deviation(initial_weights(spec, 5), spec.parts[0]), 0.05 / std::sqrt(3), 0.001);
  for (const Part& part : spec.parts) {
    const float first = initial_weights(spec, 5)[part.range.begin];
    if (part.name == "layer_norm1.gamma") { EXPECT_EQ(first, 1); }
    if (part.name == "layer_norm1.beta") { EXPECT_EQ(first, 0); }
  }
  table.weights.kind = InitializerKind::xavier;
  spec = make_spec({"m", {table, dense(10)}}, samples, false);
  EXPECT_NEAR(deviation(initial_weights(spec, 5), spec.parts[0]), std::sqrt(2.0 / 200), 0.003) << "tokens are its inputs";
}

TEST(InitialWeights, DependOnSeedAndPartOnly) {
  const NetworkSpec spec = mnist(lenet());
  EXPECT_EQ(initial_weights(spec, 1), initial_weights(spec, 1));
  EXPECT_NE(initial_weights(spec, 1), initial_weights(spec, 2));
  // Two tensors of the same shape in one network get different values.
  const NetworkSpec twins = mnist({"m", {named(dense(10), "a"), named(dense(10), "b")}});
  const std::vector<float> weights = initial_weights(twins, 1);
  std::set<float> first(weights.begin(), weights.begin() + 100);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_FALSE(first.contains(weights[twins.parts[2].range.begin + i]));
}

TEST(InitialBuffers, AreMeanZeroAndVarianceOne) {
  const std::vector<float> buffers = initial_buffers(mnist(keras_bn_cnn()));
  ASSERT_EQ(buffers.size(), 512u);
  EXPECT_EQ(buffers[0], 0);
  EXPECT_EQ(buffers[255], 0);
  EXPECT_EQ(buffers[256], 1);
  EXPECT_EQ(buffers[511], 1);
}

}  // namespace
}  // namespace mgcompare::testing
